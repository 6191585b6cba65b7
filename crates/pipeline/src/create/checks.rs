//! Checks of the included jobs: their needs and their variables.

use super::conditions::Conditions;
use super::left_out::{self, Labels};
use super::{CreatedJob, Creation, JobLayers, Layer, LayeredVariable, Layers};
use crate::context::{ExpandError, Kept, sort_and_expand};
use crate::resolve::ResolvedJob;
use crate::rules::Rule;
use executor_core::job::VariableDefinition;
use executor_core::variable::LONGEST_VALUE;
use indexmap::IndexMap;
use std::collections::HashSet;
use yaml::Node;
use yaml::diagnostic::Diagnostic;
use yaml::source::Span;

/// The maximum number of references of cycles that are shown with their locations.
const MOST_REFERENCES: usize = 20;

/// Finds needs of included jobs that are not in the pipeline.
pub(super) fn check_needs(
    jobs: &[CreatedJob],
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
    locations: &Locations<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    let included = jobs.iter().filter(|job| job.is_included);
    let names: HashSet<&str> = included.clone().map(CreatedJob::name).collect();
    for job in included {
        let Some(needs) = &job.definition.needs else {
            continue;
        };
        let count = needs.len();
        let most = conditions.situation().most_needs;
        if count > most {
            problems.push(locations.too_many_needs(job, count, most));
            continue;
        }
        let missing = needs.iter().filter(|need| !need.optional);
        for need in missing.filter(|need| !names.contains(need.job.as_str())) {
            let other = jobs.iter().find(|job| job.name() == need.job);
            let why = other.map(|other| left_out::of_job(other, conditions, layers));
            let needed = other.map(|other| &other.resolved);
            problems.push(locations.left_out_need(job, &need.job, needed, why.unwrap_or_default()));
        }
    }
}

/// Finds variables that refer to each other in a cycle, or expand to too much text.
///
/// The shared variables are checked once. If they are correct, only a job's own references need
/// checking. Jobs with the same cycle are reported together.
pub(super) fn check_variables(
    jobs: &[CreatedJob],
    layers: &Layers<'_>,
    locations: &Locations<'_>,
    problems: &mut Vec<Diagnostic>,
) {
    let invalid = invalid_variables(jobs, layers).into_iter();
    problems.extend(invalid.map(|(error, jobs)| {
        let others = match jobs.len() - 1 {
            0 => String::new(),
            1 => " and one other job".to_owned(),
            more => format!(" and {more} other jobs"),
        };
        let message = format!("`{}`{others}: {error}", jobs[0].name());
        locations.problem(&error, message, jobs[0], layers)
    }));
}

/// Returns the errors among the variables of included jobs, each with the jobs that have it.
pub(super) fn invalid_variables<'j>(
    jobs: &'j [CreatedJob],
    layers: &Layers<'_>,
) -> IndexMap<ExpandError, Vec<&'j CreatedJob>> {
    let is_shared_valid = expand(&layers.of_pipeline()).is_ok();
    let mut found: IndexMap<ExpandError, Vec<&CreatedJob>> = IndexMap::new();
    for job in jobs.iter().filter(|job| job.is_included) {
        let checked = if is_shared_valid {
            let referring = referring(job);
            if referring.is_empty() {
                continue;
            }
            Creation::job_layers(job, layers).check(referring)
        } else {
            expand(&Creation::job_layers(job, layers))
        };
        if let Err(error) = checked {
            found.entry(error).or_default().push(job);
        }
    }
    found
}

/// Finds where the file defines the variables and needs of a job.
#[derive(Debug)]
pub(super) struct Locations<'a> {
    /// The content of the file.
    pub(super) tree: Option<&'a Node>,
    /// The workflow rule that matched.
    pub(super) workflow_rule: Option<&'a Rule>,
}

impl Locations<'_> {
    /// Returns the problem of an error among the variables of a job, at the first of them, or else at the job.
    pub(super) fn problem(
        &self,
        error: &ExpandError,
        message: String,
        job: &CreatedJob,
        layers: &Layers<'_>,
    ) -> Diagnostic {
        let layers = Creation::job_layers(job, layers);
        let label = |name: &str, words: String| Some((self.find(name, job, &layers)?, words));
        let related: Labels = match error {
            ExpandError::Cycles(cycles) => {
                let references = cycles.iter().flat_map(|names| names.windows(2));
                let references = references.take(MOST_REFERENCES);
                let label = |pair: &[String]| label(&pair[0], format!("refers to `{}`", pair[1]));
                references.filter_map(label).collect()
            }
            ExpandError::TooLong(name) => label(name, String::new()).into_iter().collect(),
            ExpandError::AllTooLong => Labels::new(),
        };
        Diagnostic {
            span: related.first().map(|(span, _)| *span).or(job.resolved.span),
            related,
            ..Diagnostic::error(code_of(error), message)
        }
    }

    /// Returns the error of a job that needs one that is not in the pipeline, at its entry of `needs`, with the rules
    /// that leave out the needed job.
    pub(super) fn left_out_need(
        &self,
        job: &CreatedJob,
        name: &str,
        needed: Option<&ResolvedJob>,
        why: Labels,
    ) -> Diagnostic {
        let own = job.name();
        let message = format!("`{own}` needs `{name}`, which is not in the pipeline");
        let help = format!(
            "with `optional: true`, the need is dropped when rules leave `{name}` out: \
             `needs: [{{job: {name}, optional: true}}]`"
        );
        let why = why.into_iter();
        let why = why.map(|(span, words)| (span, format!("leaves `{name}` out: {words}")));
        let in_file = needed.map_or(name, |needed| &needed.name_in_file);
        let mut entries = self.needs(job).into_iter().flat_map(|needs| {
            let entries = needs.as_sequence();
            entries.map_or(vec![needs], |entries| {
                entries.iter().map(AsRef::as_ref).collect()
            })
        });
        let entry = entries.find(|entry| {
            let job = entry.get("job").map_or(*entry, AsRef::as_ref).as_str();
            job.is_some_and(|job| job == name || job == in_file)
        });
        let span = entry.map(|entry| entry.span).or(job.resolved.span);
        let own = span.map(|span| (span, format!("needs `{name}`")));
        Diagnostic {
            span,
            related: own.into_iter().chain(why).collect(),
            help: Some(help),
            ..Diagnostic::error("left-out-need", message)
        }
    }

    /// Returns the needs of a job as written: those of its rule, or its own.
    fn needs(&self, job: &CreatedJob) -> Option<&Node> {
        let in_file = self.tree?.get(&job.resolved.name_in_file)?;
        let rule = job.matching_rule().zip(in_file.get("rules"));
        let rule = rule.and_then(|(rule, rules)| entry_of(rule, rules));
        // A rule without a need leaves those of the job.
        let of_rule = rule.and_then(|rule| rule.get("needs"));
        let of_rule = of_rule.filter(|needs| !needs.is_blank());
        of_rule.or_else(|| in_file.get("needs")).map(AsRef::as_ref)
    }

    /// Returns the problem of a job with more needs than are allowed.
    pub(super) fn too_many_needs(&self, job: &CreatedJob, count: usize, most: usize) -> Diagnostic {
        let needs = self.needs(job);
        let name = job.name();
        let message = format!("`{name}` needs {count} jobs; at most {most} are allowed");
        let help = "without `needs`, a job waits for all jobs of earlier stages";
        Diagnostic {
            span: needs.map(|needs| needs.span).or(job.resolved.span),
            help: Some(help.to_owned()),
            ..Diagnostic::error("too-many-needs", message)
        }
    }

    /// Returns the location of the effective variable of this name, unless it is from outside the file.
    fn find(&self, name: &str, job: &CreatedJob, layers: &JobLayers<'_>) -> Option<Span> {
        let tree = self.tree?;
        let in_file = || tree.get(&job.resolved.name_in_file);
        let owner = match layers.find(name)?.layer {
            Layer::Global => tree,
            Layer::Workflow => entry_of(self.workflow_rule?, tree.get("workflow")?.get("rules")?)?,
            Layer::Own => in_file()?,
            Layer::Rule => entry_of(job.matching_rule()?, in_file()?.get("rules")?)?,
            Layer::Job | Layer::Predefined | Layer::User | Layer::External => return None,
        };
        Some(owner.get("variables")?.as_mapping()?.get(name)?.key_span)
    }
}

/// Returns the entry of a rule in a list of rules, which may be nested.
fn entry_of<'n>(rule: &Rule, rules: &'n Node) -> Option<&'n Node> {
    match rules.as_sequence() {
        Some(entries) => entries.iter().find_map(|entry| entry_of(rule, entry)),
        None => (rules.span == rule.span).then_some(rules),
    }
}

/// Returns the code of an error among variables.
fn code_of(error: &ExpandError) -> &'static str {
    match error {
        ExpandError::Cycles(_) => "variable-cycle",
        ExpandError::TooLong(_) | ExpandError::AllTooLong => "variables-too-large",
    }
}

/// Returns the names of a job's own variables that contain references, or are too long by themselves.
fn referring(job: &CreatedJob) -> Vec<String> {
    let own = [job.definition.job_variables.as_ref(), job.rule_variables()];
    let own = own.into_iter().flatten().flatten();
    let refers = |value: &VariableDefinition| {
        let text = value.value();
        text.len() > LONGEST_VALUE || !value.is_raw() && text.contains(['$', '%'])
    };
    let referring = own.filter(|(_, value)| refers(value));
    referring.map(|(name, _)| name.clone()).collect()
}

/// Checks all variables but predefined ones, which contain no references.
pub(super) fn expand(layers: &JobLayers<'_>) -> Result<(), ExpandError> {
    let variables = layers.external_and_written().into_iter();
    let variables = variables.map(LayeredVariable::to_variable).collect();
    sort_and_expand(variables, Kept::FOR_RUNNER).map(drop)
}
