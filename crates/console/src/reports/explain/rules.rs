use super::{heading, place, push_pair, push_wrapped};
use crate::text::{Mark, Style, Tone, fit, strip_controls};
use pipeline_insight::explain::{
    ClauseKind, ClauseVerdict, ExplainedPolicy, ExplainedRule, Explanation, RuleOutcome,
};

/// Adds what was asked about the pipeline and the job, and what the answers were.
pub(super) fn push(text: &mut String, explained: &Explanation, style: Style) {
    for (words, rules) in [
        ("workflow", &explained.workflow),
        ("rules", &explained.rules),
    ] {
        if !rules.is_empty() {
            heading(text, words, style);
        }
        for (number, rule) in rules.iter().enumerate() {
            push_rule(text, number + 1, rule, style);
        }
    }
    for (words, policy) in [("only", &explained.only), ("except", &explained.except)] {
        if let Some(policy) = policy {
            heading(text, words, style);
            push_policy(text, policy, style);
        }
    }
}

fn push_rule(text: &mut String, number: usize, rule: &ExplainedRule, style: Style) {
    let verdict = match rule.outcome {
        RuleOutcome::Held => Some(true),
        RuleOutcome::Failed => Some(false),
        RuleOutcome::Unknown | RuleOutcome::NotReached => None,
    };
    let words = match (rule.outcome, rule.clauses.is_empty()) {
        (RuleOutcome::Held, true) => "always matches, so it decides",
        (RuleOutcome::Held, false) => "matches, so it decides",
        (RuleOutcome::Failed, _) => "does not match",
        (RuleOutcome::Unknown, _) => "cannot be evaluated",
        (RuleOutcome::NotReached, _) => "is not evaluated",
    };
    let left = format!("  {} {number}. {words}", mark(verdict, style));
    push_pair(text, &left, &place(&rule.place), style);
    if rule.outcome == RuleOutcome::NotReached {
        return;
    }
    push_clauses(text, &rule.clauses, style);
    if !rule.effects.is_empty() && verdict == Some(true) {
        let effects: Vec<_> = rule.effects.iter().map(|it| strip_controls(it)).collect();
        push_wrapped(text, "         sets ", "           ", &effects.join(", "));
    }
}

fn push_policy(text: &mut String, policy: &ExplainedPolicy, style: Style) {
    let words = if policy.keeps {
        "includes the job"
    } else {
        "excludes the job"
    };
    let origin = match &policy.place {
        Some(written) => place(written),
        None => "by default".to_owned(),
    };
    let left = format!("  {} {words}", mark(Some(policy.keeps), style));
    push_pair(text, &left, &origin, style);
    push_clauses(text, &policy.clauses, style);
}

fn push_clauses(text: &mut String, clauses: &[ClauseVerdict], style: Style) {
    for clause in clauses {
        let keyword = match clause.kind {
            ClauseKind::If => "if",
            ClauseKind::Changes => "changes",
            ClauseKind::Exists => "exists",
            ClauseKind::Refs => "refs",
            ClauseKind::Kubernetes => "kubernetes",
        };
        let first = format!("     {} {keyword} ", mark(clause.holds, style));
        push_wrapped(text, &first, "           ", &strip_controls(&clause.text));
        for words in details(clause) {
            push_wrapped(text, "         ", "           ", &words);
        }
        if let Some(note) = &clause.note {
            push_wrapped(text, "         ", "           ", &strip_controls(note));
        }
    }
}

/// Returns what a condition saw: each of its comparisons, or for a single one the values.
fn details(clause: &ClauseVerdict) -> Vec<String> {
    if clause.steps.len() > 1 {
        return clause
            .steps
            .iter()
            .map(|step| strip_controls(step))
            .collect();
    }
    let values = clause.values.iter();
    values
        .map(|used| strip_controls(&used.to_string()))
        .collect()
}

/// Returns the mark of a verdict, as wide as all of them.
fn mark(verdict: Option<bool>, style: Style) -> String {
    let (mark, tone) = match verdict {
        Some(true) => (Mark::True, Tone::Good),
        Some(false) => (Mark::False, Tone::Bad),
        None => (Mark::Unknown, Tone::Quiet),
    };
    let width = style.verdict_width();
    style.paint(tone, &fit(style.mark(mark), width, ""))
}
