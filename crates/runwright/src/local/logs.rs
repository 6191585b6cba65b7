use job_runner::spool_file;
use pipeline::{JobReport, Plan};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the logs of a run are.
#[derive(Debug, Clone)]
pub struct RunLogs {
    pub(super) directory: PathBuf,
    pub(super) plan: Arc<Plan>,
}

impl RunLogs {
    /// Returns the file with the whole log of the job's last attempt, if it is there.
    pub fn of(&self, job: &JobReport) -> Option<PathBuf> {
        let id = self.plan.jobs()[self.plan.position(&job.name)?].id;
        let file = spool_file(&self.directory, id, job.attempts);
        file.is_file().then_some(file)
    }
}
