//! Shells in running jobs.

use executor_core::ability::{Terminal, TerminalRequest, TerminalSession, TerminalSize};
use executor_core::{BuildError, Cancellation, JobId, StageVariables};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The list of running jobs in which shells can be opened.
///
/// Pass one to [`BuildRunnerOptions::terminals`](crate::BuildRunnerOptions::terminals) and keep a
/// clone. A job is listed while it has an environment with its files and an executor that opens
/// terminals. The shells end with the environment.
#[derive(Debug, Clone, Default)]
pub struct Terminals {
    jobs: Arc<Mutex<BTreeMap<JobId, JobTerminal>>>,
}

impl Terminals {
    /// Returns the terminal of a job; `None` when no shell can be opened in it now.
    pub fn of(&self, job: JobId) -> Option<JobTerminal> {
        self.jobs().get(&job).cloned()
    }

    /// Returns the jobs in which shells can be opened now.
    pub fn open_jobs(&self) -> Vec<JobId> {
        self.jobs().keys().copied().collect()
    }

    /// Lists a job until the guard is dropped.
    pub(crate) fn enter(&self, job: JobId, terminal: JobTerminal) -> Listed {
        self.jobs().insert(job, terminal);
        Listed {
            terminals: self.clone(),
            job,
        }
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<JobId, JobTerminal>> {
        self.jobs.lock()
    }
}

/// Keeps a job in the list.
#[derive(Debug)]
pub(crate) struct Listed {
    terminals: Terminals,
    job: JobId,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.terminals.jobs().remove(&self.job);
    }
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
