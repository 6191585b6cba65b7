use crate::history::logs_of_attempt;
use executor_core::PipelineId;
use job_runner::spool_file;
use parking_lot::{Mutex, MutexGuard};
use pipeline::Plan;
use scheduler::JobReport;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the logs of a run's pipelines are. Clones know the same.
#[derive(Debug, Clone, Default)]
pub struct RunLogs(Arc<Mutex<HashMap<PipelineId, Place>>>);

/// Where the logs of one pipeline are.
#[derive(Debug)]
struct Place {
    /// The directory of the pipeline.
    directory: PathBuf,
    /// For the how manieth time it was begun.
    attempt: u32,
    plan: Arc<Plan>,
}

impl RunLogs {
    /// Adds a pipeline in this directory, in this attempt of its run.
    pub(crate) fn add(&self, directory: PathBuf, attempt: u32, plan: &Arc<Plan>) {
        let place = Place {
            directory,
            attempt,
            plan: Arc::clone(plan),
        };
        self.lock().insert(plan.id(), place);
    }

    /// Returns the file with the whole log of the last attempt of a pipeline's job, if it is there.
    pub fn of(&self, pipeline: PipelineId, job: &JobReport) -> Option<PathBuf> {
        let places = self.lock();
        let place = places.get(&pipeline)?;
        let id = place.plan.jobs()[place.plan.position(&job.name)?].id;
        // What had finished before somebody went on with the run did not run again.
        let attempts = (1..=place.attempt).rev();
        let mut files =
            attempts.map(|it| spool_file(&logs_of_attempt(&place.directory, it), id, job.attempts));
        files.find(|file| file.is_file())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PipelineId, Place>> {
        self.0.lock()
    }
}
