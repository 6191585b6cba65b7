use super::step::EnvironmentStep;
use super::store::Environments;
use async_trait::async_trait;
use executor_core::job::Job;
use executor_core::variable::JobVariable;
use executor_core::{JobAssignment, JobOutcome, JobRunner, JobState, RunContext};
use std::sync::Arc;

/// Runs jobs with another runner, and takes note of what those that end well did to environments.
///
/// The note is written before anybody hears that the job has finished, and may be written twice: it
/// says the same then.
#[derive(Debug, Clone)]
pub struct EnvironmentRunner {
    /// Runs the jobs.
    pub inner: Arc<dyn JobRunner>,
    /// Where the notes go.
    pub environments: Environments,
}

#[async_trait]
impl JobRunner for EnvironmentRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let job = Arc::clone(&assignment.job);
        let outcome = self.inner.run(assignment, context).await;
        if outcome.state == JobState::Success {
            note(&self.environments, &job, &outcome.products.dotenv).await;
        }
        outcome
    }
}

/// Takes note of what a job that ended well did to its environment, if it has one; `dotenv` are the
/// variables that it reported.
pub(crate) async fn note(environments: &Environments, job: &Job, dotenv: &[JobVariable]) {
    let Some(step) = EnvironmentStep::of(job, dotenv) else {
        return;
    };
    let environments = environments.clone();
    let recorded = tokio::task::spawn_blocking(move || environments.record(&step)).await;
    if let Ok(Err(error)) = recorded {
        tracing::warn!(
            job = %job.job_info.name,
            error = &error as &dyn std::error::Error,
            "What the job did to its environment is not noted."
        );
    }
}
