//! Jobs that need not run once more: what they left in an earlier run is taken over.

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

/// Runs jobs with another runner, but for those that ended well in an earlier run and left what is still
/// there.
#[derive(Debug)]
pub(super) struct TakingOver {
    inner: Arc<dyn JobRunner>,
    /// What the jobs of this run leave.
    artifacts: StoredArtifacts,
    earlier: HashMap<JobId, Earlier>,
}

/// How a job ended in an earlier run.
#[derive(Debug, Clone)]
struct Earlier {
    id: JobId,
    artifacts: StoredArtifacts,
    outcome: JobOutcome,
}

impl TakingOver {
    /// Returns the runner of a plan: `done` says in which run jobs ended well, and `asked` which jobs run
    /// all the same. Where nothing can be taken over it is the runner itself.
    pub(super) fn over(
        inner: Arc<dyn JobRunner>,
        plan: &Plan,
        directory: &Path,
        done: &BTreeMap<String, u64>,
        asked: Option<&BTreeSet<String>>,
        runs: &Runs,
        kept: &RetainedFiles,
    ) -> Arc<dyn JobRunner> {
        let Some(asked) = asked.filter(|_| !done.is_empty()) else {
            return inner;
        };
        let mut histories = HashMap::new();
        let mut earlier = HashMap::new();
        let needed = plan.jobs().iter().filter(|job| !asked.contains(job.name()));
        for job in needed {
            let Some(&run) = done.get(job.name()) else {
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
                let taken = Earlier {
                    id: known.id,
                    artifacts: artifacts.clone(),
                    outcome,
                };
                earlier.insert(job.id, taken);
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
impl JobRunner for TakingOver {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let job = assignment.job.id;
        let Some(earlier) = self.earlier.get(&job).cloned() else {
            return self.inner.run(assignment, context).await;
        };
        let own = self.artifacts.clone();
        let Earlier {
            id,
            artifacts,
            outcome,
        } = earlier;
        let taken = tokio::task::spawn_blocking(move || own.adopt(&artifacts, id, job)).await;
        match taken {
            Ok(Ok(true)) => outcome,
            // What it left is gone, or cannot be read: it leaves that once more.
            _ => self.inner.run(assignment, context).await,
        }
    }
}
