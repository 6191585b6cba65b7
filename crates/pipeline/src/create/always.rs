//! What no situation accepts, checked without one.

use super::checks::{code_of, invalid_variables, too_many_needs};
use super::{CreatedJob, Layers};
use crate::Pipeline;
use crate::config::{RulesKeyword, Variables};
use crate::context::{ExpandError, ExternalVariable, PipelineContext};
use crate::resolve::{ResolvedJob, ResolvedPipeline};
use crate::rules::Rule;
use executor_core::job::When;
use executor_core::variable::JobVariables;
use std::collections::HashSet;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Severity};
use yaml::source::Span;

impl Pipeline {
    /// Reports why no pipeline with a job could be created, whatever the situation: its variables
    /// refer to each other in a cycle or are too large, or it has too many needs. `given` are the
    /// variables from outside, which override those of the file.
    ///
    /// For a job that its rules may leave out, an error among its variables is a warning. If a rule sets variables, only
    /// its needs are checked.
    pub fn check_creation(
        &self,
        resolved: &ResolvedPipeline,
        given: Vec<ExternalVariable>,
        diagnostics: &mut Diagnostics,
    ) {
        let context = PipelineContext {
            external: given,
            ..PipelineContext::default()
        };
        let workflow = resolved.workflow.rules.entries().iter();
        let overridden: HashSet<&String> =
            workflow.flat_map(|rule| rule.variables.keys()).collect();
        let mut global = resolved.variables.clone();
        global.retain(|name, _| !overridden.contains(name));
        let (predefined, none) = (JobVariables::default(), Variables::new());
        let layers = Layers::new(&context, &predefined, &global, &none);
        let mut reported = HashSet::new();
        for severity in [Severity::Error, Severity::Warning] {
            let jobs = resolved.jobs.iter();
            let jobs = jobs.filter(|job| severity_of(&job.rules) == Some(severity));
            let jobs: Vec<CreatedJob> = jobs.map(included).collect();
            for (error, jobs) in invalid_variables(&jobs, &layers) {
                let job = &jobs[0].resolved;
                let at = self.labels(job, &error);
                let problem = Diagnostic::error(code_of(&error), error.to_string());
                if reported.insert(error) {
                    diagnostics.push(Diagnostic {
                        severity,
                        span: at.first().map(|(span, _)| *span).or(job.span),
                        related: at,
                        ..problem
                    });
                }
            }
        }
        for job in &resolved.jobs {
            let count = job.definition.needs.as_ref().map_or(0, Vec::len);
            if count > context.most_needs {
                let problem = too_many_needs(&job.definition.name, count, context.most_needs);
                let needs = self.tree().get(&job.name_in_file);
                let needs = needs.and_then(|job| job.get("needs"));
                diagnostics.push(Diagnostic {
                    span: needs.map(|needs| needs.span).or(job.span),
                    ..problem
                });
            }
        }
    }

    /// Returns the locations of the variables of an error, in the job or at the top of the file.
    fn labels(&self, job: &ResolvedJob, error: &ExpandError) -> Vec<(Span, String)> {
        let tree = self.tree();
        let location = |name: &str| {
            let places = [tree.get(&job.name_in_file), Some(tree)].into_iter();
            let mut variables = places.flatten().filter_map(|place| place.get("variables"));
            variables.find_map(|variables| Some(variables.as_mapping()?.get(name)?.key_span))
        };
        let label = |name: &str, words: String| Some((location(name)?, words));
        match error {
            ExpandError::Cycle(names) => names
                .windows(2)
                .filter_map(|pair| label(&pair[0], format!("refers to `{}`", pair[1])))
                .collect(),
            ExpandError::TooLong(name) => label(name, String::new()).into_iter().collect(),
            ExpandError::AllTooLong => Vec::new(),
        }
    }
}

/// Returns how severe an error among the variables of a job with these rules is; `None` when a rule may mend it.
fn severity_of(rules: &RulesKeyword) -> Option<Severity> {
    let RulesKeyword::List(rules) = rules else {
        return Some(Severity::Error);
    };
    if rules.iter().any(|rule| !rule.variables.is_empty()) {
        return None;
    }
    let includes = |rule: &Rule| rule.when != Some(When::Never);
    let is_included = rules.iter().all(includes) && rules.last().is_some_and(is_unconditional);
    Some(if is_included {
        Severity::Error
    } else {
        Severity::Warning
    })
}

fn is_unconditional(rule: &Rule) -> bool {
    rule.condition.is_none() && rule.changes.is_none() && rule.exists.is_none()
}

fn included(job: &ResolvedJob) -> CreatedJob {
    CreatedJob {
        resolved: job.clone(),
        definition: Arc::clone(&job.definition),
        shown: Arc::clone(&job.definition),
        is_included: true,
        rule: None,
    }
}
