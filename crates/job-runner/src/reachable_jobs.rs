//! Access to running jobs from outside: shells and ports.

use executor_core::ability::{PortProxy, Terminal, TerminalRequest, TerminalSession, TerminalSize};
use executor_core::job::Job;
use executor_core::{BuildError, Cancellation, JobId, StageVariables};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The list of running jobs that can be reached from outside.
///
/// Pass one to [`BuildRunnerOptions::reachable_jobs`](crate::BuildRunnerOptions::reachable_jobs) and keep
/// a clone. A job is listed while it has an environment with its files. Shells and connections end with
/// the environment.
#[derive(Debug, Clone, Default)]
pub struct ReachableJobs {
    jobs: Arc<Mutex<BTreeMap<JobId, JobAccess>>>,
}

impl ReachableJobs {
    /// Returns the access to a job; `None` while it has no environment.
    pub fn of(&self, job: JobId) -> Option<JobAccess> {
        self.jobs().get(&job).cloned()
    }

    /// Returns the ids of the listed jobs.
    pub fn ids(&self) -> Vec<JobId> {
        self.jobs().keys().copied().collect()
    }

    /// Lists a job until the guard is dropped.
    pub(crate) fn enter(&self, access: JobAccess) -> Listed {
        let job = access.job.id;
        self.jobs().insert(job, access);
        Listed {
            reachable: self.clone(),
            job,
        }
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, JobAccess>> {
        self.jobs.lock()
    }
}

/// Keeps a job in the list.
#[derive(Debug)]
pub(crate) struct Listed {
    reachable: ReachableJobs,
    job: JobId,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.reachable.jobs().remove(&self.job);
    }
}

/// Access to one running job, as far as its executor has the abilities.
#[derive(Debug, Clone)]
pub struct JobAccess {
    /// The job.
    pub job: Arc<Job>,
    /// Opens shells.
    pub terminal: Option<JobTerminal>,
    /// Reaches the ports of the job and its services.
    pub port_proxy: Option<Arc<dyn PortProxy>>,
}

/// Opens shells in one job.
#[derive(Debug, Clone)]
pub struct JobTerminal {
    /// Opens terminals; from the executor.
    pub terminal: Arc<dyn Terminal>,
    /// The job's name.
    pub job: String,
    /// The working directory of a shell.
    pub directory: String,
    /// The commands of the job's scripts, as they are written.
    pub history: Vec<String>,
    /// What the scripts get of variables.
    pub variables: Arc<StageVariables>,
}

impl JobTerminal {
    /// Asks for a shell with the job's variables, and with its script as the history.
    pub fn request(&self, size: TerminalSize) -> TerminalRequest {
        TerminalRequest::new(size)
            .with_title(format!("job {}", self.job))
            .with_history(self.history.clone())
            .with_variables(Arc::clone(&self.variables))
    }

    /// Opens such a shell.
    ///
    /// # Errors
    ///
    /// When the environment cannot start one, or is gone.
    pub async fn open(
        &self,
        size: TerminalSize,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        self.terminal.open(self.request(size), cancellation).await
    }
}
