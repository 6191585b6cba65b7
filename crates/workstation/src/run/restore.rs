//! Jobs whose results are restored from an earlier run.

use crate::history::retained_files::RetainedFiles;
use crate::history::{JobHistory, Runs, products};
use async_trait::async_trait;
use executor_core::job::JobId;
use executor_core::{JobAssignment, JobOutcome, JobRunner, PipelineId, ReusedFrom, RunContext};
use job_runner::StoredArtifacts;
use pipeline::Plan;
use scheduler::Status;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Restores jobs that succeeded in an earlier run and whose artifacts still exist; runs the others.
#[derive(Debug)]
pub(super) struct RestoreRunner {
    inner: Arc<dyn JobRunner>,
    /// The artifacts of this run.
    artifacts: StoredArtifacts,
    earlier: HashMap<JobId, EarlierResult>,
}

/// The result of a job in an earlier run.
#[derive(Debug, Clone)]
struct EarlierResult {
    id: JobId,
    artifacts: StoredArtifacts,
    outcome: JobOutcome,
}

impl RestoreRunner {
    /// Wraps the runner of a plan: `done` has the runs in which jobs succeeded, and `selected` the jobs that
    /// run all the same. If no job can be restored, returns `inner` itself.
    pub(super) fn wrap(
        inner: Arc<dyn JobRunner>,
        plan: &Plan,
        directory: &Path,
        done: &BTreeMap<String, u64>,
        selected: Option<&BTreeSet<String>>,
        runs: &Runs,
        kept: &RetainedFiles,
    ) -> Arc<dyn JobRunner> {
        let Some(selected) = selected.filter(|_| !done.is_empty()) else {
            return inner;
        };
        let mut histories = HashMap::new();
        let mut earlier = HashMap::new();
        for job in plan.jobs() {
            let run = done.get(job.name());
            let Some(&run) = run.filter(|_| !selected.contains(job.name())) else {
                continue;
            };
            let known = histories.entry(run).or_insert_with(|| {
                let found = runs.find(run).ok()?;
                let history = found.history().ok()?;
                Some((kept.of_run(found.directory()), history))
            });
            let Some((artifacts, history)) = known else {
                continue;
            };
            if let Some(known) = history.job(job.name())
                && known.status == Status::Success
            {
                let outcome = outcome(plan, run, artifacts, known);
                let result = EarlierResult {
                    id: known.id,
                    artifacts: artifacts.clone(),
                    outcome,
                };
                earlier.insert(job.id, result);
            }
        }
        if earlier.is_empty() {
            return inner;
        }
        Arc::new(Self {
            inner,
            artifacts: kept.of_run(directory),
            earlier,
        })
    }
}

fn outcome(plan: &Plan, run: u64, artifacts: &StoredArtifacts, job: &JobHistory) -> JobOutcome {
    JobOutcome {
        products: Arc::new(products(plan, artifacts, job)),
        reused: Some(ReusedFrom {
            pipeline: PipelineId(run),
            duration_ms: job.duration.as_millis().try_into().unwrap_or(u64::MAX),
        }),
        ..JobOutcome::success()
    }
}

#[async_trait]
impl JobRunner for RestoreRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let job = assignment.job.id;
        let Some(earlier) = self.earlier.get(&job).cloned() else {
            return self.inner.run(assignment, context).await;
        };
        let own = self.artifacts.clone();
        let EarlierResult {
            id,
            artifacts,
            outcome,
        } = earlier;
        let adopted = tokio::task::spawn_blocking(move || own.adopt(&artifacts, id, job)).await;
        match adopted {
            Ok(Ok(true)) => outcome,
            // The artifacts are gone or unreadable, so the job creates them again.
            _ => self.inner.run(assignment, context).await,
        }
    }
}
