use super::runs::logs_of_life;
use job_runner::spool_file;
use pipeline::{JobReport, Plan};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the logs of a run are.
#[derive(Debug, Clone)]
pub struct RunLogs {
    /// The directory of the run.
    pub(super) directory: PathBuf,
    /// For the how manieth time it was begun.
    pub(super) life: u32,
    pub(super) plan: Arc<Plan>,
}

impl RunLogs {
    /// Returns the file with the whole log of the job's last attempt, if it is there.
    pub fn of(&self, job: &JobReport) -> Option<PathBuf> {
        let id = self.plan.jobs()[self.plan.position(&job.name)?].id;
        // What had finished before somebody went on with the run did not run again.
        let lives = (1..=self.life).rev();
        let mut files =
            lives.map(|life| spool_file(&logs_of_life(&self.directory, life), id, job.attempts));
        files.find(|file| file.is_file())
    }
}
