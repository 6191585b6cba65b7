//! Why rules leave out a pipeline or a job: the rules with what they saw.

use super::conditions::Conditions;
use super::{CreatedJob, JobLayers, Layers};
use crate::rules::{ClauseVerdict, Policy, Rule, RuleOutcome, examine};
use indexmap::IndexMap;
use yaml::source::Span;

/// The maximum number of locations in a message.
pub(super) const MOST_SHOWN: usize = 8;

/// The maximum length of a label, in characters.
const LONGEST_LABEL: usize = 100;

/// Locations, each with a label.
pub(super) type Labels = Vec<(Span, String)>;

/// Returns the rules with the values of their conditions.
pub(super) fn by_rules(
    rules: &[Rule],
    conditions: &Conditions<'_>,
    layers: &JobLayers<'_>,
) -> Labels {
    let rules = &rules[..rules.len().min(MOST_SHOWN)];
    let verdicts = conditions.with(rules, layers, |context| Ok(examine(rules, context)));
    let verdicts = verdicts.unwrap_or_default().into_iter();
    let labels = rules.iter().zip(verdicts).map(|(rule, verdict)| {
        let holds = verdict.outcome == RuleOutcome::Held;
        let mut words = seen(&verdict.clauses, holds);
        // Without conditions, or with such as have no variables.
        if words.is_empty() {
            words.push_str(match verdict.outcome {
                RuleOutcome::Held => "it always matches",
                RuleOutcome::Failed => "it never matches",
                RuleOutcome::Unknown => "it cannot be evaluated",
                RuleOutcome::NotReached => "an earlier rule decides",
            });
        }
        (location(rule), words)
    });
    labels.collect()
}

/// Returns why a job is left out, at the locations of its rules, or else of its name.
pub(super) fn of_job(job: &CreatedJob, conditions: &Conditions<'_>, layers: &Layers<'_>) -> Labels {
    let resolved = &job.resolved;
    let layers = layers.of_job(&resolved.definition, &resolved.inherited_variables, None);
    let rules = deciding_rules(job);
    if !rules.is_empty() {
        return by_rules(rules, conditions, &layers);
    }
    let examine = |policy: &Policy, holds: bool| {
        let clauses = conditions.with(&[], &layers, |context| {
            Ok(policy.examine(conditions.situation(), context))
        });
        seen(&clauses.unwrap_or_default(), holds)
    };
    let only = resolved.only.as_deref().map(|only| examine(only, false));
    let except = resolved.except.as_deref();
    let except = except.map(|except| examine(except, true));
    let words = [("only", only), ("except", except)];
    let words = words.into_iter().filter_map(|(keyword, words)| {
        let words = words.filter(|words| !words.is_empty())?;
        Some(format!("`{keyword}`: {words}"))
    });
    let words: Vec<String> = words.collect();
    let labels = resolved.span.map(|span| (span, words.join("; ")));
    labels.into_iter().collect()
}

/// Returns why jobs are left out, each location once.
pub(super) fn of_jobs(
    jobs: &[CreatedJob],
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
) -> Labels {
    let mut labels: IndexMap<Span, String> = IndexMap::new();
    for job in jobs.iter().filter(|job| !job.is_included) {
        if labels.len() >= MOST_SHOWN {
            break;
        }
        let rules = deciding_rules(job);
        let is_new = |rule: &Rule| !labels.contains_key(&location(rule));
        if rules.is_empty() || rules.iter().any(is_new) {
            for (span, words) in of_job(job, conditions, layers) {
                labels.entry(span).or_insert(words);
            }
        }
    }
    labels.into_iter().take(MOST_SHOWN).collect()
}

/// Returns the rule that leaves a job out, or all of its rules if none matches.
fn deciding_rules(job: &CreatedJob) -> &[Rule] {
    let rules = job.resolved.rules.entries();
    match job.rule {
        Some(at) => &rules[at..=at],
        None => rules,
    }
}

/// Returns the location of a rule's condition, or else of the rule.
pub(super) fn location(rule: &Rule) -> Span {
    let condition = rule.condition.as_ref();
    condition.map_or(rule.span, |condition| condition.span)
}

/// Returns what the conditions that hold, or those that do not, saw.
fn seen(clauses: &[ClauseVerdict], holds: bool) -> String {
    let clauses = clauses
        .iter()
        .filter(|it| (it.holds == Some(true)) == holds);
    let mut words: Vec<String> = Vec::new();
    for clause in clauses {
        let values = clause.values.iter().map(ToString::to_string);
        words.extend(values.chain(clause.note.clone()));
    }
    let words = words.join(", ");
    match words.char_indices().nth(LONGEST_LABEL) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
