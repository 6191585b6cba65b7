//! The decisions about the order and the result of jobs in which tools differ.

use crate::dialect::Dialect;

/// How a scheduler runs a plan, as named decisions.
///
/// The default is GitLab's. [`Plan::scheduling_policy`](crate::Plan::scheduling_policy) returns the
/// policy of a plan, so a scheduler needs to know no tool by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchedulingPolicy {
    /// When a job whose predecessors have ended starts.
    pub start: StartRule,
    /// Which failures start a job with `when: on_failure`.
    pub rescue: RescueRule,
    /// Which failed jobs decide the exit code.
    pub exit: ExitRule,
}

/// When a job whose predecessors have ended starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartRule {
    /// At once.
    #[default]
    Immediate,
    /// At once, unless a job of its stage has failed: then it is skipped.
    UntilStageFails,
    /// In batches: after all jobs of the previous batch have ended.
    InBatches,
}

/// Which failures start a job with `when: on_failure`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RescueRule {
    /// Failures that are not allowed.
    #[default]
    HardFailures,
    /// All failures.
    AllFailures,
}

/// Which failed jobs decide the exit code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExitRule {
    /// All of them.
    #[default]
    AllStages,
    /// Those of the first stage that has any.
    FirstFailedStage,
}

impl SchedulingPolicy {
    /// Returns the policy of a dialect for a plan in which some job has `needs`, or none has.
    pub(crate) fn new(dialect: Dialect, has_needs: bool) -> Self {
        match dialect {
            Dialect::GitLab => Self::default(),
            Dialect::Bitrab => Self {
                start: if has_needs {
                    StartRule::InBatches
                } else {
                    StartRule::UntilStageFails
                },
                rescue: RescueRule::AllFailures,
                exit: ExitRule::FirstFailedStage,
            },
        }
    }
}
