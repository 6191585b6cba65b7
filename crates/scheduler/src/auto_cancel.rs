use crate::Status;
use pipeline::plan::Plan;
use pipeline::rules::OnNewCommit;

/// What a newer pipeline of the same ref cancels of an older one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redundant {
    /// Nothing.
    Nothing,
    /// The whole pipeline.
    Pipeline,
    /// The jobs at these places.
    Jobs(Vec<usize>),
}

/// Returns what a newer pipeline of the same ref cancels of this one, whose jobs stand at `status`.
///
/// The rules are GitLab's: `conservative`, the default, cancels the pipeline unless a job has begun
/// that must not be interrupted; `interruptible` cancels the jobs that may be; `none` nothing.
pub fn redundant(plan: &Plan, status: impl Fn(usize) -> Status) -> Redundant {
    let jobs = 0..plan.jobs().len();
    let may_be_stopped = |job: usize| plan.jobs()[job].is_interruptible();
    match plan.auto_cancel().on_new_commit.unwrap_or_default() {
        OnNewCommit::None => Redundant::Nothing,
        OnNewCommit::Conservative => {
            let mut stand_in_the_way = jobs.filter(|&job| has_begun(status(job)));
            if stand_in_the_way.all(may_be_stopped) {
                Redundant::Pipeline
            } else {
                Redundant::Nothing
            }
        }
        OnNewCommit::Interruptible => {
            let goes_on = |job: &usize| status(*job).when_canceled().is_some();
            let stopped: Vec<usize> = jobs
                .filter(|&job| may_be_stopped(job))
                .filter(goes_on)
                .collect();
            if stopped.is_empty() {
                Redundant::Nothing
            } else {
                Redundant::Jobs(stopped)
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
