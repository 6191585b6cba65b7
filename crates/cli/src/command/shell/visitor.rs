use super::task::ShellTask;
use console::terminal::{OwnTerminal, attach};
use console::{error_line, strip_controls};
use executor_core::prelude::async_trait;
use executor_core::{BuildError, Cancellation, ExitCode, Job, JobId, StageStatus};
use parking_lot::Mutex;
use std::sync::OnceLock;
use workstation::{Visit, VisitPoint, Visitor};

/// Enters one job in place of its scripts.
#[derive(Debug)]
pub(super) struct ShellVisitor {
    task: ShellTask,
    /// Whether the shell reads the user's startup files.
    profile: bool,
    /// Whether changes persist after the shell ends.
    stays: bool,
    /// The job, once it is known.
    pub(super) job: OnceLock<JobId>,
    ended: Mutex<Option<ExitCode>>,
}

impl ShellVisitor {
    pub(super) fn new(task: ShellTask, profile: bool, stays: bool) -> Self {
        Self {
            task,
            profile,
            stays,
            job: OnceLock::new(),
            ended: Mutex::default(),
        }
    }

    /// Returns the exit code of the shell, if it ran to an end.
    pub(super) fn ended(&self) -> Option<ExitCode> {
        *self.ended.lock()
    }

    fn greet(&self, visit: &Visit) {
        let shown = |text: &str| strip_controls(text);
        let name = shown(&visit.job.job_info.name);
        let directory = shown(&visit.terminal.directory);
        error_line(&format!("job {name:?} in {directory}"));
        error_line(
            "its sources, caches, artifacts and variables are in place; its script has not run",
        );
        error_line(if self.stays {
            "this is the working tree: changes are kept; leave with `exit` or Ctrl-D"
        } else {
            "changes are not kept; leave with `exit` or Ctrl-D"
        });
    }
}

#[async_trait]
impl Visitor for ShellVisitor {
    fn enters(&self, job: &Job, _attempt: u32, point: &VisitPoint) -> bool {
        self.job.get() == Some(&job.id) && *point == VisitPoint::InPlaceOfScripts
    }

    fn commands(&self, _job: &Job) -> Option<Vec<String>> {
        match &self.task {
            ShellTask::Shell => None,
            ShellTask::Commands(commands) => Some(commands.clone()),
        }
    }

    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError> {
        self.greet(&visit);
        let failed = |error| BuildError::system("terminal", "use it", error);
        let terminal = OwnTerminal::open().map_err(failed)?;
        let mut request = visit.terminal.request(terminal.size());
        request.profile = self.profile;
        let opener = &visit.terminal.terminal;
        let mut session = opener.open(request, cancellation).await?;
        let ended = attach(&mut *session, &terminal, cancellation).await;
        cancellation.check()?;
        let code = ended
            .map_err(failed)?
            .map_or(ExitCode(0), StageStatus::exit_code);
        *self.ended.lock() = Some(code);
        if code.is_success() {
            return Ok(());
        }
        Err(BuildError::Script { exit_code: code })
    }
}
