use crate::history::logs_of_attempt;
use executor_core::PipelineId;
use job_runner::spool_file;
use parking_lot::{Mutex, MutexGuard};
use pipeline::Plan;
use scheduler::JobReport;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The logs of a run's pipelines. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct RunLogs(Arc<Mutex<HashMap<PipelineId, PipelineLogs>>>);

#[derive(Debug)]
struct PipelineLogs {
    /// The directory of the pipeline.
    directory: PathBuf,
    /// The attempt of the run, from 1.
    attempt: u32,
    plan: Arc<Plan>,
}

impl RunLogs {
    /// Adds a pipeline in this directory, in this attempt of its run.
    pub(crate) fn add(&self, directory: PathBuf, attempt: u32, plan: &Arc<Plan>) {
        let logs = PipelineLogs {
            directory,
            attempt,
            plan: Arc::clone(plan),
        };
        self.lock().insert(plan.id(), logs);
    }

    /// Returns the file with the whole log of a job's last attempt, if it exists.
    pub fn of(&self, pipeline: PipelineId, job: &JobReport) -> Option<PathBuf> {
        let all = self.lock();
        let logs = all.get(&pipeline)?;
        let id = logs.plan.jobs()[logs.plan.position(&job.name)?].id;
        // A job that finished in an earlier attempt of the run has its log there.
        let attempts = (1..=logs.attempt).rev();
        let mut files =
            attempts.map(|it| spool_file(&logs_of_attempt(&logs.directory, it), id, job.attempts));
        files.find(|file| file.is_file())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PipelineId, PipelineLogs>> {
        self.0.lock()
    }
}
