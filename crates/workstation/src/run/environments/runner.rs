use super::step::EnvironmentStep;
use super::store::Environments;
use async_trait::async_trait;
use executor_core::job::Job;
use executor_core::variable::JobVariable;
use executor_core::{JobAssignment, JobOutcome, JobRunner, JobState, RunContext};
use std::sync::Arc;

/// Runs jobs with another runner, and records what successful ones do to deployment environments.
///
/// The record is written before the job counts as finished. It may be written twice, with the same content.
#[derive(Debug, Clone)]
pub struct EnvironmentRunner {
    /// Runs the jobs.
    pub inner: Arc<dyn JobRunner>,
    /// The environments of the project.
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

/// Records what a successful job did to its environment, if it has one; `dotenv` are the variables of its
/// dotenv reports.
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
            "The change of the job's environment is not recorded."
        );
    }
}
