use crate::Status;
use pipeline::plan::Plan;
use pipeline::rules::OnNewCommit;

/// What a newer pipeline of the same ref cancels in an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redundant {
    /// Nothing.
    Nothing,
    /// The whole pipeline.
    Pipeline,
    /// The jobs with these indices in the plan.
    Jobs(Vec<usize>),
}

/// Returns what a newer pipeline of the same ref cancels in this one, whose jobs have these statuses.
///
/// The rules are GitLab's: `conservative`, the default, cancels the pipeline unless a job has begun
/// that is not interruptible; `interruptible` cancels the interruptible jobs; `none` cancels nothing.
pub fn redundant(plan: &Plan, status: impl Fn(usize) -> Status) -> Redundant {
    let jobs = 0..plan.jobs().len();
    let is_interruptible = |job: usize| plan.jobs()[job].is_interruptible();
    match plan.auto_cancel().on_new_commit.unwrap_or_default() {
        OnNewCommit::None => Redundant::Nothing,
        OnNewCommit::Conservative => {
            let mut begun = jobs.filter(|&job| has_begun(status(job)));
            if begun.all(is_interruptible) {
                Redundant::Pipeline
            } else {
                Redundant::Nothing
            }
        }
        OnNewCommit::Interruptible => {
            let is_cancelable = |job: &usize| status(*job).when_canceled().is_some();
            let canceled: Vec<usize> = jobs
                .filter(|&job| is_interruptible(job))
                .filter(is_cancelable)
                .collect();
            if canceled.is_empty() {
                Redundant::Nothing
            } else {
                Redundant::Jobs(canceled)
            }
        }
    }
}

fn has_begun(status: Status) -> bool {
    matches!(
        status,
        Status::Running | Status::Canceling | Status::Success | Status::Failed
    )
}
