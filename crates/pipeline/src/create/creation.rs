use crate::config::{RulesKeyword, Variables};
use crate::resolve::ResolvedJob;
use crate::rules::{AutoCancel, Rule};
use crate::selector::NamedJob;
use executor_core::job::JobDefinition;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;

/// The pipeline of a file in one situation.
#[derive(Debug, Clone, Default)]
pub struct Creation {
    /// Why the pipeline was not created; absent when it was.
    pub refusal: Option<Refusal>,
    /// Whether the commit message asks for a pipeline without running jobs (`[ci skip]`).
    pub is_skipped: bool,
    /// Its expanded name (`workflow:name`), as passed to jobs.
    pub name: Option<String>,
    /// The name for display, with secrets masked.
    pub shown_name: Option<String>,
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// The variables of the top level of the file.
    pub global_variables: Arc<Variables>,
    /// The variables of the workflow rule that matched, which override the global ones.
    pub workflow_variables: Arc<Variables>,
    /// The index of the `workflow` rule that matched.
    pub workflow_rule: Option<usize>,
    /// What is cancelled, and when.
    pub auto_cancel: AutoCancel,
    /// All jobs in file order, including those that are not in the pipeline.
    pub jobs: Vec<CreatedJob>,
}

/// A job and whether it is in the pipeline.
#[derive(Debug, Clone)]
pub struct CreatedJob {
    /// The job before the evaluation of rules.
    pub resolved: ResolvedJob,
    /// The job as changed by the rule that matched; [`Creation::complete`] adds its rules and
    /// variables.
    pub definition: Arc<JobDefinition>,
    /// The definition for display: the name of its environment is expanded, and secrets in names are
    /// masked.
    pub shown: Arc<JobDefinition>,
    /// Whether it is in the pipeline.
    pub is_included: bool,
    /// The index of the rule that matched; absent when none did, or there are none.
    pub rule: Option<usize>,
}

/// Why a pipeline was not created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub reason: RefusalReason,
    /// The details, with the rules that decided; never empty.
    pub problems: Vec<Diagnostic>,
}

/// The kinds of reasons for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// `workflow:rules` prevent it.
    WorkflowRules,
    /// The pipeline would have no jobs, or only jobs in `.pre` and `.post`.
    NoJobs,
    /// A job cannot be created: a need is missing, variables refer to each other in a cycle, or a
    /// ref to compare with does not exist.
    SeedError,
}

/// Why a job is not in a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeftOutBy {
    /// The rule with this number, from 1, matches and has `when: never`.
    Rule(usize),
    /// None of its rules matches.
    NoRule,
    /// Its `only` or `except`, including the default `only`.
    Policy,
}

impl fmt::Display for LeftOutBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(number) => write!(f, "its rule {number} matches with `when: never`"),
            Self::NoRule => f.write_str("none of its rules matches"),
            Self::Policy => f.write_str("its `only` or `except` excludes it"),
        }
    }
}

impl Creation {
    /// Returns the jobs in the pipeline by stage, within a stage in file order.
    pub fn included(&self) -> Vec<&CreatedJob> {
        let indices = self.stage_indices();
        let jobs = self.jobs.iter().filter(|job| job.is_included);
        let mut jobs: Vec<&CreatedJob> = jobs.collect();
        jobs.sort_by_key(|job| indices.get(&*job.definition.stage));
        jobs
    }

    /// Returns the indices of all stages by name; the first of a name counts.
    pub fn stage_indices(&self) -> HashMap<&str, usize> {
        let indexed = self.stages.iter().enumerate().rev();
        indexed.map(|(at, name)| (name.as_str(), at)).collect()
    }

    /// Returns the job of this expanded name, in the pipeline or not.
    pub fn job(&self, name: &str) -> Option<&CreatedJob> {
        self.jobs.iter().find(|job| job.definition.name == name)
    }
}

impl CreatedJob {
    /// Returns the expanded name, with the suffix from `parallel`.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the job's name for selectors.
    pub fn named(&self) -> NamedJob<'_> {
        let named = NamedJob::new(self.name(), &self.resolved.matrix);
        match self.definition.parallel_total {
            Some(_) => named,
            None => named.alone(),
        }
    }

    /// Returns why the job is not in the pipeline; meaningful only if it is not.
    pub fn left_out_by(&self) -> LeftOutBy {
        match (self.rule, &self.resolved.rules) {
            (Some(at), _) => LeftOutBy::Rule(at + 1),
            (None, RulesKeyword::List(_)) => LeftOutBy::NoRule,
            (None, _) => LeftOutBy::Policy,
        }
    }

    /// Returns the rule that matched.
    pub fn matching_rule(&self) -> Option<&Rule> {
        self.resolved.rules.entries().get(self.rule?)
    }

    /// Returns the variables of the rule that matched.
    pub fn rule_variables(&self) -> Option<&Variables> {
        self.matching_rule().map(|rule| &rule.variables)
    }
}

impl Refusal {
    pub(crate) fn new(reason: RefusalReason, problem: Diagnostic) -> Self {
        let problems = vec![problem];
        Self { reason, problems }
    }

    /// Returns whether nothing can be planned. Jobs selected by name may run even if they alone
    /// form no pipeline.
    pub(crate) fn forbids(&self, is_named: bool) -> bool {
        match self.reason {
            RefusalReason::SeedError => true,
            RefusalReason::WorkflowRules => is_named,
            RefusalReason::NoJobs => false,
        }
    }
}

impl RefusalReason {
    /// Returns the word used in JSON.
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
