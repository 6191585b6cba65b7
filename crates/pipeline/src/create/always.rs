//! What no situation accepts, checked without one.

use super::checks::{Locations, invalid_variables};
use super::left_out::{Labels, MOST_SHOWN, location};
use super::{CreatedJob, Layers};
use crate::Pipeline;
use crate::config::{RulesKeyword, Variables};
use crate::context::{ExternalVariable, PipelineContext};
use crate::resolve::{ResolvedJob, ResolvedPipeline, default_policy};
use crate::rules::{Policy, Rule};
use executor_core::job::{Need, When};
use executor_core::variable::JobVariables;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics, Severity};

impl Pipeline {
    /// Reports why no pipeline with a job could be created, whatever the situation: its variables
    /// refer to each other in a cycle or are too large, it has too many needs, or it needs a job that
    /// its rules always leave out. `given` are the variables from outside, which override those of the
    /// file.
    ///
    /// For a job that may be left out, an error among its variables, or a need that is left out, is a warning. If a rule
    /// sets variables, only its needs are checked.
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
        let locations = Locations {
            tree: Some(self.tree()),
            workflow_rule: None,
        };
        let mut reported = HashSet::new();
        for severity in [Severity::Error, Severity::Warning] {
            let jobs = resolved.jobs.iter();
            let jobs = jobs.filter(|job| !job.rules.entries().iter().any(sets_variables));
            let jobs = jobs.filter(|job| severity_of(job) == Some(severity));
            let jobs: Vec<CreatedJob> = jobs.map(included).collect();
            for (error, jobs) in invalid_variables(&jobs, &layers) {
                let problem = locations.problem(&error, error.to_string(), jobs[0], &layers);
                if reported.insert(error) {
                    diagnostics.push(Diagnostic {
                        severity,
                        ..problem
                    });
                }
            }
        }
        for job in &resolved.jobs {
            let count = job.definition.needs.as_ref().map_or(0, Vec::len);
            if count > context.most_needs {
                let most = context.most_needs;
                diagnostics.push(locations.too_many_needs(&included(job), count, most));
            }
        }
        check_needs(resolved, &locations, diagnostics);
    }
}

/// Reports needs of jobs that no situation includes.
fn check_needs(
    resolved: &ResolvedPipeline,
    locations: &Locations<'_>,
    diagnostics: &mut Diagnostics,
) {
    let left_out = resolved
        .jobs
        .iter()
        .filter(|job| severity_of(job).is_none());
    let left_out: HashMap<&str, &ResolvedJob> =
        left_out.map(|job| (&*job.definition.name, job)).collect();
    let mut reported = HashSet::new();
    for job in &resolved.jobs {
        let Some(severity) = severity_of(job) else {
            continue;
        };
        let possible = needs_of(job);
        let each = possible.iter();
        let each = each.flat_map(|(rule, needs)| needs.iter().map(|need| (*rule, need)));
        for (rule, need) in each.filter(|(_, need)| !need.optional) {
            let Some(needed) = left_out.get(&*need.job) else {
                continue;
            };
            // The instances of `parallel` jobs have the same needs.
            if !reported.insert((&job.name_in_file, &needed.name_in_file)) {
                continue;
            }
            let is_certain = possible.iter().all(|(_, needs)| needs.contains(need));
            let why = why_left_out(needed);
            let job = CreatedJob {
                rule,
                ..included(job)
            };
            diagnostics.push(Diagnostic {
                severity: if is_certain {
                    severity
                } else {
                    Severity::Warning
                },
                ..locations.left_out_need(&job, &need.job, Some(needed), why)
            });
        }
    }
}

/// Returns the needs that a job may have, its own or those of a rule that includes it, with the index of the rule.
fn needs_of(job: &ResolvedJob) -> Vec<(Option<usize>, &[Need])> {
    let own = job.definition.needs.as_deref().unwrap_or_default();
    let RulesKeyword::List(rules) = &job.rules else {
        return vec![(None, own)];
    };
    let possible = reachable(rules).filter(|(_, rule)| includes(rule));
    let needs = possible.map(|(at, _)| {
        let of_rule = job.needs_of_rule(at);
        (Some(at), of_rule.map_or(own, |of_rule| &of_rule.needs))
    });
    needs.collect()
}

/// Returns the rules of a job that no situation includes, each with what it does.
fn why_left_out(job: &ResolvedJob) -> Labels {
    let rules = job.rules.entries();
    let words = |rule: &Rule| match always_matches(rule) {
        Some(true) => "it always matches",
        Some(false) => "it never matches",
        None => "it has `when: never`",
    };
    let certain = rules
        .iter()
        .position(|rule| always_matches(rule) == Some(true));
    let deciding = match certain {
        Some(at) => &rules[at..=at],
        None => rules,
    };
    let shown = deciding.iter().take(MOST_SHOWN);
    shown
        .map(|rule| (location(rule), words(rule).to_owned()))
        .collect()
}

/// Returns how severe it is that a job cannot be created: an error if every situation includes the job, a warning if
/// some do; `None` if none does.
fn severity_of(job: &ResolvedJob) -> Option<Severity> {
    let is_always = match &job.rules {
        RulesKeyword::List(rules) => {
            if !reachable(rules).any(|(_, rule)| includes(rule)) {
                return None;
            }
            reachable(rules).all(|(_, rule)| includes(rule))
                && rules.iter().any(|rule| always_matches(rule) == Some(true))
        }
        RulesKeyword::Absent | RulesKeyword::Null => {
            let is_default = |only: &Arc<Policy>| **only == default_policy();
            job.except.is_none() && job.only.as_ref().is_none_or(is_default)
        }
    };
    Some(if is_always {
        Severity::Error
    } else {
        Severity::Warning
    })
}

/// Returns the rules that decide in some situation, with their indices.
fn reachable(rules: &[Rule]) -> impl Iterator<Item = (usize, &Rule)> {
    let certain = rules
        .iter()
        .position(|rule| always_matches(rule) == Some(true));
    let rules = rules[..certain.map_or(rules.len(), |at| at + 1)]
        .iter()
        .enumerate();
    rules.filter(|(_, rule)| always_matches(rule) != Some(false))
}

/// Returns whether a rule matches, if that is the same in every situation.
fn always_matches(rule: &Rule) -> Option<bool> {
    let holds = match &rule.condition {
        None => true,
        Some(condition) => condition.value.constant()?,
    };
    let has_files = rule.changes.is_some() || rule.exists.is_some();
    (!holds || !has_files).then_some(holds)
}

fn includes(rule: &Rule) -> bool {
    rule.when != Some(When::Never)
}

fn sets_variables(rule: &Rule) -> bool {
    !rule.variables.is_empty()
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
