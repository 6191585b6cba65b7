use super::expand::Expansion;
use super::lower::stage;
use super::stage_indices;
use crate::config::{Config, Job, JobNeed, NeedEntry, Spanned};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph;
use crate::source::Span;
use crate::suggest::did_you_mean;
use executor_core::job::Need;
use std::collections::{HashMap, HashSet};

/// How many jobs one may need.
const MOST_NEEDS: usize = 50;

/// How many mistyped names are given advice: each is compared with all names there are, and nobody
/// reads that much.
const MOST_ADVICE: usize = 50;

/// Checks every name of a stage or job that a job gives.
pub(super) fn check(config: &Config, expansion: &Expansion<'_>, diagnostics: &mut Diagnostics) {
    let mut checker = Checker {
        config,
        stages: stage_indices(&config.stages),
        expansion,
        diagnostics,
        advice_left: MOST_ADVICE,
    };
    for job in &config.jobs {
        checker.check_stage(job);
        checker.check_dependencies(job);
        checker.check_needs(job);
    }
    checker.check_cycles();
}

struct Checker<'c> {
    config: &'c Config,
    stages: HashMap<&'c str, usize>,
    expansion: &'c Expansion<'c>,
    diagnostics: &'c mut Diagnostics,
    advice_left: usize,
}

impl<'c> Checker<'c> {
    fn check_stage(&mut self, job: &Job) {
        let stage_name = stage(job);
        if self.stages.contains_key(stage_name) {
            return;
        }
        let stages = &self.config.stages;
        let message = format!(
            "{} job: the stage `{stage_name}` does not exist; stages are {}",
            job.name,
            stages.join(", ")
        );
        let span = job.stage.as_ref().map_or(job.span, |stage| stage.span);
        let help = self.advise(stage_name, stages.iter().map(String::as_str));
        self.report("unknown-stage", message, span, help);
    }

    fn check_dependencies(&mut self, job: &'c Job) {
        for name in job.dependencies.iter().flatten() {
            let what = "dependency";
            self.check_earlier(job, &name.value, what, "unknown-dependency", name.span);
            let Some(needs) = job.needs.as_ref().filter(|needs| !needs.is_empty()) else {
                continue;
            };
            let is_it = |need: &Spanned<NeedEntry>| match &need.value {
                NeedEntry::Job(need) => need.need.job == name.value,
                NeedEntry::Cross(_) | NeedEntry::Mirror(_) => false,
            };
            if !needs.iter().any(is_it) {
                let message = format!(
                    "jobs:{} dependencies should be part of `needs`: `{}` is not",
                    job.name, name.value
                );
                self.report("dependency-not-needed", message, name.span, None);
            }
        }
    }

    fn check_needs(&mut self, job: &'c Job) {
        let needs = job.needs.as_deref().unwrap_or_default();
        if needs.len() > MOST_NEEDS {
            let message = format!(
                "{} job: `needs` has {} entries; at most {MOST_NEEDS} are allowed",
                job.name,
                needs.len()
            );
            self.report("too-many-needs", message, job.span, None);
        }
        let mut seen = HashSet::new();
        for need in needs {
            let (
                NeedEntry::Job(JobNeed {
                    need:
                        Need {
                            job: name,
                            optional,
                            ..
                        },
                    ..
                }),
                span,
            ) = (&need.value, need.span)
            else {
                continue;
            };
            if !seen.insert(name) {
                let message = format!("{} job: needs `{name}` twice", job.name);
                self.report("duplicate-need", message, span, None);
            } else if *optional && self.expansion.find(name).is_none() {
                // An optional need may be absent; that is what the word is for.
            } else {
                self.check_earlier(job, name, "need", "unknown-need", span);
            }
        }
    }

    /// Checks that `name` is a job of the same or an earlier stage.
    fn check_earlier(
        &mut self,
        job: &Job,
        name: &str,
        what: &str,
        unknown: &'static str,
        span: Span,
    ) {
        let Some(other) = self.expansion.find(name) else {
            let names = self.config.jobs.iter().map(|job| &*job.name);
            let help = self.advise(name, names.filter(|&known| known != &*job.name));
            let message = format!("{} job: undefined {what} `{name}`", job.name);
            self.report(unknown, message, span, help);
            return;
        };
        let index = |job: &Job| self.stages.get(stage(job));
        // A job without a stage has its own error already.
        let (Some(mine), Some(others)) = (index(job), index(other)) else {
            return;
        };
        if others > mine {
            let message = format!(
                "{} job: the {what} `{name}` is in the later stage `{}`",
                job.name,
                stage(other)
            );
            self.report("later-stage", message, span, None);
        }
    }

    fn check_cycles(&mut self) {
        let jobs = &self.config.jobs;
        let indices = jobs.iter().enumerate();
        let indices: HashMap<&str, usize> = indices.map(|(at, job)| (&*job.name, at)).collect();
        let needed = |need: &Spanned<NeedEntry>| match &need.value {
            NeedEntry::Job(need) => self
                .expansion
                .find(&need.need.job)
                .map(|job| indices[&*job.name]),
            NeedEntry::Cross(_) | NeedEntry::Mirror(_) => None,
        };
        let needs = |job: &Job| job.needs.iter().flatten().filter_map(needed).collect();
        let Err(cycle) = graph::order(&jobs.iter().map(needs).collect::<Vec<_>>()) else {
            return;
        };
        let first = &jobs[cycle[0]];
        let mut names: Vec<&str> = cycle.iter().map(|&at| &*jobs[at].name).collect();
        names.push(&first.name);
        let message = format!(
            "the jobs need each other in a circle: {}",
            names.join(" -> ")
        );
        let span = first.needs.iter().flatten().next();
        let span = span.map_or(first.span, |need| need.span);
        self.report("needs-cycle", message, span, None);
    }

    fn advise(&mut self, name: &str, known: impl Iterator<Item = &'c str>) -> Option<String> {
        self.advice_left = self.advice_left.checked_sub(1)?;
        did_you_mean(name, known)
    }

    fn report(&mut self, code: &'static str, message: String, span: Span, help: Option<String>) {
        let error = Diagnostic::error(code, message).at(span);
        self.diagnostics.push(error.with_help(help));
    }
}
