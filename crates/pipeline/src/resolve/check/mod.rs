//! Checks that the stages and jobs a job refers to exist and come early enough.

mod needs;
mod on_stop;

use super::ResolvedJob;
use super::expand::Expansion;
use super::lower::{stage, stage_indices};
use crate::config::{Config, Job, RulesKeyword, TriggerTarget};
use crate::graph;
use executor_core::job::When;
use std::collections::{HashMap, HashSet};
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::Span;
use yaml::suggest::did_you_mean;

/// How many mistyped names get a suggestion, which takes a comparison with every name of the file.
const MOST_ADVICE: usize = 50;
/// How many stages a message lists.
const MOST_LISTED: usize = 20;
/// How many names of a cycle a message lists.
const MOST_IN_CYCLE: usize = 20;

/// How many names of needs are looked up; matrices in many needs could name millions.
const MOST_LOOKUPS: usize = 4_000_000;

/// Checks every reference of a job to a stage or another job.
pub(super) fn check(
    config: &Config,
    expansion: &Expansion<'_>,
    resolved: &[ResolvedJob],
    diagnostics: &mut Diagnostics,
) {
    let mut checker = Checker {
        config,
        stages: stage_indices(&config.stages),
        expansion,
        diagnostics,
        advised: HashSet::new(),
        lookups_left: MOST_LOOKUPS,
    };
    for job in &config.jobs {
        checker.diagnostics.enter_job(Some(&job.name));
        checker.check_stage(job);
        checker.check_dependencies(job);
        checker.check_needs(job);
        checker.check_generators(job);
        checker.check_on_stop(job);
        checker.check_last_rule(job);
    }
    checker.diagnostics.enter_job(None);
    checker.check_cycles(resolved);
}

struct Checker<'c> {
    config: &'c Config,
    stages: HashMap<&'c str, usize>,
    expansion: &'c Expansion<'c>,
    diagnostics: &'c mut Diagnostics,
    /// The locations of mistyped names that got a suggestion.
    advised: HashSet<Span>,
    /// How many more names of needs may be looked up.
    lookups_left: usize,
}

/// A kind of reference to a job, for messages.
#[derive(Debug, Clone, Copy)]
struct Link {
    what: &'static str,
    code: &'static str,
}

const NEED: Link = Link {
    what: "need",
    code: "unknown-need",
};
const DEPENDENCY: Link = Link {
    what: "dependency",
    code: "unknown-dependency",
};

impl<'c> Checker<'c> {
    fn check_stage(&mut self, job: &Job) {
        let stage_name = stage(job);
        if !self.config.stages_are_known || self.stages.contains_key(stage_name) {
            return;
        }
        let stages = &self.config.stages;
        let mut listed = stages[..stages.len().min(MOST_LISTED)].join(", ");
        if stages.len() > MOST_LISTED {
            listed.push_str(", ...");
        }
        let message = format!(
            "{} job: chosen stage {stage_name} does not exist; available stages are {listed}",
            job.name
        );
        let span = job.stage.as_ref().map_or(job.span, |stage| stage.span);
        let help = self.advise(span, stage_name, stages.iter().map(String::as_str));
        let help = help.or_else(|| {
            let words = "a job without `stage` is in `test`: give it one of the stages";
            job.stage.is_none().then(|| words.to_owned())
        });
        self.report("unknown-stage", message, span, help);
    }

    fn check_dependencies(&mut self, job: &'c Job) {
        let names = job.dependencies.as_deref().unwrap_or_default();
        for name in names {
            self.check_earlier(job, &name.value, DEPENDENCY, name.span);
        }
        self.check_dependencies_are_needed(job, names);
    }

    /// Checks the jobs whose artifacts contain the file of a child pipeline.
    fn check_generators(&mut self, job: &'c Job) {
        let target = job.trigger.as_deref().map(|trigger| &trigger.target);
        if let Some(TriggerTarget::Child { generators }) = target {
            for name in generators {
                self.check_earlier(job, &name.value, DEPENDENCY, name.span);
            }
        }
    }

    /// Checks that `name` is a job of the same or an earlier stage; returns whether it is.
    fn check_earlier(&mut self, job: &Job, name: &str, link: Link, span: Span) -> bool {
        let Some(other) = self.expansion.find(name) else {
            self.report_unknown(job, name, link, span);
            return false;
        };
        let index = |job: &Job| self.stages.get(stage(job)).copied();
        // An unknown stage has its own error.
        let (Some(mine), Some(others)) = (index(job), index(other)) else {
            return true;
        };
        if others > mine {
            let message = format!(
                "{} job: {} {name} is not defined in current or prior stages",
                job.name, link.what
            );
            let help = format!(
                "`{name}` is in the stage `{}`, which comes after `{}`",
                stage(other),
                stage(job)
            );
            self.report("later-stage", message, span, Some(help));
        }
        others <= mine
    }

    fn report_unknown(&mut self, job: &Job, name: &str, link: Link, span: Span) {
        let help = self.advise_of_job(job, name, span);
        let message = format!("{} job: undefined {}: {name}", job.name, link.what);
        self.report(link.code, message, span, help);
    }

    /// Returns help for a reference of `job` to a job that does not exist.
    fn advise_of_job(&mut self, job: &Job, name: &str, span: Span) -> Option<String> {
        let names = self.config.jobs.iter().map(|job| &*job.name);
        let help = self.advise(span, name, names.filter(|&known| known != &*job.name));
        help.or_else(|| {
            let words = "a job whose name begins with a dot is hidden and cannot be named here";
            name.starts_with('.').then(|| words.to_owned())
        })
    }

    /// Checks that no job needs itself, directly or indirectly.
    pub(super) fn check_cycles(&mut self, resolved: &[ResolvedJob]) {
        let edges = resolved.iter().map(|job| {
            let needs = job.definition.needs.iter().flatten();
            needs
                .filter_map(|need| self.expansion.index_of(&need.job))
                .collect()
        });
        let cycles = graph::order(&edges.collect::<Vec<_>>()).err();
        let mut reported = HashSet::new();
        for cycle in cycles.into_iter().flatten() {
            // The instances of `parallel` jobs have the same cycle.
            if reported.insert(&resolved[cycle[0]].name_in_file) {
                self.report_cycle(&cycle, resolved);
            }
        }
    }

    fn report_cycle(&mut self, cycle: &[usize], resolved: &[ResolvedJob]) {
        let first = &resolved[cycle[0]];
        let next = &resolved[cycle[1 % cycle.len()]];
        let shown = cycle.iter().take(MOST_IN_CYCLE);
        let mut names: Vec<&str> = shown.map(|&at| &*resolved[at].definition.name).collect();
        if cycle.len() > MOST_IN_CYCLE {
            names.push("...");
        }
        names.push(&first.definition.name);
        let message = format!(
            "The pipeline has circular dependencies: the jobs need each other in a cycle: {}",
            names.join(" -> ")
        );
        let Some(span) = first.span else {
            return;
        };
        let in_file = self.expansion.find(&first.definition.name);
        let names = [&*next.definition.name, &*next.name_in_file];
        let mut needs = in_file
            .and_then(|job| job.needs.as_ref())
            .into_iter()
            .flatten();
        let need =
            needs.find(|need| needs::job_name(need).is_some_and(|name| names.contains(&name)));
        let span = need.map_or(span, |need| need.span);
        self.report("needs-cycle", message, span, None);
    }

    /// Warns of a last rule that always matches: with an open merge request, a push then starts two
    /// pipelines.
    fn check_last_rule(&mut self, job: &Job) {
        let RulesKeyword::List(rules) = &job.rules else {
            return;
        };
        let Some(last) = rules.last().filter(|last| last.is_only_when()) else {
            return;
        };
        if self.config.workflow.rules.is_present() || last.when == Some(When::Never) {
            return;
        }
        let message = format!(
            "jobs:{} may allow multiple pipelines to run for a single action due to `rules:when` \
             clause with no `workflow:rules`",
            job.name
        );
        let help = "add `workflow: {rules: ...}`, or a condition to the last rule";
        let warning = Diagnostic::warning("duplicate-pipelines", message).at(last.span);
        self.diagnostics.push(warning.with_help(help.to_owned()));
    }

    /// Returns a suggestion, once for each location: several jobs may inherit the same mistyped
    /// name.
    fn advise(
        &mut self,
        span: Span,
        name: &str,
        known: impl Iterator<Item = &'c str>,
    ) -> Option<String> {
        let is_first = self.advised.len() < MOST_ADVICE && self.advised.insert(span);
        is_first.then(|| did_you_mean(name, known))?
    }

    fn report(&mut self, code: &'static str, message: String, span: Span, help: Option<String>) {
        let error = Diagnostic::error(code, message).at(span);
        self.diagnostics.push(error.with_help(help));
    }
}
