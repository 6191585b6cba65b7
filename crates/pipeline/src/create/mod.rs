//! From a resolved pipeline and a situation to the jobs that run in it: `workflow`, `rules`, `only`
//! and `except` are decided here.

use crate::config::Variables;
use crate::rules::AutoCancel;
use crate::source::Span;
use executor_core::job::JobDefinition;
use std::sync::Arc;

/// A pipeline as its situation makes it.
#[derive(Debug, Clone, Default)]
pub struct Creation {
    /// Why there is no pipeline; absent when there is one.
    pub refusal: Option<Refusal>,
    /// Its name (`workflow:name`), expanded.
    pub name: Option<String>,
    /// The stages in order, `.pre` and `.post` included.
    pub stages: Vec<String>,
    /// The global variables, with those of the workflow rule that held.
    pub variables: Variables,
    /// What is cancelled, and when.
    pub auto_cancel: AutoCancel,
    /// All jobs of the file in its order, also those that are not in the pipeline.
    pub jobs: Vec<CreatedJob>,
}

/// A job and whether it is in the pipeline.
#[derive(Debug, Clone)]
pub struct CreatedJob {
    /// The job, as the rule that held left it.
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
    /// What is the matter, in one sentence without a final dot.
    pub message: String,
    /// The place in the file.
    pub span: Option<Span>,
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

impl Creation {
    /// Returns the jobs that are in the pipeline, in the order of the file.
    pub fn included(&self) -> impl Iterator<Item = &Arc<JobDefinition>> {
        let jobs = self.jobs.iter().filter(|job| job.is_included);
        jobs.map(|job| &job.definition)
    }
}
