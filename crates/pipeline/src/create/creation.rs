use crate::config::{RulesKeyword, Variables};
use crate::resolve::ResolvedJob;
use crate::rules::{AutoCancel, Rule};
use crate::selector::NamedJob;
use executor_core::job::JobDefinition;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use yaml::source::Span;

/// A pipeline as its situation makes it.
#[derive(Debug, Clone, Default)]
pub struct Creation {
    /// Why there is no pipeline; absent when there is one.
    pub refusal: Option<Refusal>,
    /// Whether the commit's message asks for a pipeline of which no job runs (`[ci skip]`).
    pub is_skipped: bool,
    /// Its name (`workflow:name`), expanded: what jobs know.
    pub name: Option<String>,
    /// The name as it may be shown, without the values of secrets.
    pub shown_name: Option<String>,
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// The variables of the top level of the file.
    pub global_variables: Arc<Variables>,
    /// The variables of the workflow rule that held, which win over those.
    pub workflow_variables: Arc<Variables>,
    /// The rule of `workflow` that held, by its place in the list.
    pub workflow_rule: Option<usize>,
    /// What is cancelled, and when.
    pub auto_cancel: AutoCancel,
    /// All jobs of the file in its order, also those that are not in the pipeline.
    pub jobs: Vec<CreatedJob>,
}

/// A job and whether it is in the pipeline.
#[derive(Debug, Clone)]
pub struct CreatedJob {
    /// The job before any rule was looked at.
    pub resolved: ResolvedJob,
    /// The job as the rule that held left it; [`Creation::complete`] adds its rules and variables.
    pub definition: Arc<JobDefinition>,
    /// Whether it is in the pipeline.
    pub is_included: bool,
    /// The rule that decided, by its place in the list; absent when none held, or there are none.
    pub rule: Option<usize>,
}

/// Why there is no pipeline, or none with these jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: RefusalReason,
    /// What is the matter; never empty.
    pub problems: Vec<Problem>,
}

/// One thing that keeps a pipeline from being created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is the matter, in one sentence without a final dot.
    pub message: String,
    /// The place in the file.
    pub span: Option<Span>,
    /// What can be done about it.
    pub help: Option<String>,
}

/// The kinds of reasons for which there is no pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// `workflow:rules` say no.
    WorkflowRules,
    /// No job is left, or only jobs in `.pre` and `.post`.
    NoJobs,
    /// A job cannot be made: a need is missing, variables refer to each other in a circle, or a
    /// ref to compare with is not there.
    SeedError,
}

/// What leaves a job out of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeftOutBy {
    /// The rule of this number, from 1, holds and says `never`.
    Rule(usize),
    /// None of its rules holds.
    NoRule,
    /// Its `only` or `except`; also the `only` that jobs have by themselves.
    Policy,
}

impl fmt::Display for LeftOutBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(number) => write!(f, "its rule {number} holds and says `never`"),
            Self::NoRule => f.write_str("none of its rules holds"),
            Self::Policy => f.write_str("its `only` or `except` leaves it out"),
        }
    }
}

impl Creation {
    /// Returns the jobs that are in the pipeline: by stage, within a stage in the order of the file.
    pub fn included(&self) -> Vec<&CreatedJob> {
        let places = self.stage_places();
        let jobs = self.jobs.iter().filter(|job| job.is_included);
        let mut jobs: Vec<&CreatedJob> = jobs.collect();
        jobs.sort_by_key(|job| places.get(&*job.definition.stage));
        jobs
    }

    /// Returns the places of all stages by name; the first of a name counts.
    pub fn stage_places(&self) -> HashMap<&str, usize> {
        let places = self.stages.iter().enumerate().rev();
        places.map(|(at, name)| (name.as_str(), at)).collect()
    }

    /// Returns the job of this expanded name, in the pipeline or not.
    pub fn job(&self, name: &str) -> Option<&CreatedJob> {
        self.jobs.iter().find(|job| job.definition.name == name)
    }
}

impl CreatedJob {
    /// Returns the name, with what `parallel` adds to it.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the job as a selector sees it.
    pub fn named(&self) -> NamedJob<'_> {
        let named = NamedJob::new(self.name(), &self.resolved.matrix);
        match self.definition.parallel_total {
            Some(_) => named,
            None => named.alone(),
        }
    }

    /// Returns what leaves the job out; only to be asked of a job that is not in the pipeline.
    pub fn left_out_by(&self) -> LeftOutBy {
        match (self.rule, &self.resolved.rules) {
            (Some(at), _) => LeftOutBy::Rule(at + 1),
            (None, RulesKeyword::Given(_)) => LeftOutBy::NoRule,
            (None, _) => LeftOutBy::Policy,
        }
    }

    /// Returns the rule that held.
    pub fn held_rule(&self) -> Option<&Rule> {
        self.resolved.rules.entries().get(self.rule?)
    }

    /// Returns the variables of the rule that held.
    pub fn rule_variables(&self) -> Option<&Variables> {
        self.held_rule().map(|rule| &rule.variables)
    }
}

impl Refusal {
    pub(crate) fn new(reason: RefusalReason, problem: Problem) -> Self {
        let problems = vec![problem];
        Self { reason, problems }
    }

    /// Returns whether nothing of the pipeline can be planned. Jobs that somebody names may run
    /// although they alone make no pipeline.
    pub(crate) fn forbids(&self, is_named: bool) -> bool {
        match self.reason {
            RefusalReason::SeedError => true,
            RefusalReason::WorkflowRules => is_named,
            RefusalReason::NoJobs => false,
        }
    }
}

impl Problem {
    pub(crate) fn new(message: impl Into<String>, span: Option<Span>) -> Self {
        Self {
            message: message.into(),
            span,
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl RefusalReason {
    /// Returns the word that stands for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::WorkflowRules => "workflow",
            Self::NoJobs => "no_jobs",
            Self::SeedError => "seed_error",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut problems = self.problems.iter();
        if let Some(first) = problems.next() {
            f.write_str(&first.message)?;
        }
        problems.try_for_each(|problem| write!(f, "; {}", problem.message))
    }
}
