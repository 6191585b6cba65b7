//! A shell in jobs that fail.

use console::terminal::{OwnTerminal, attach};
use console::{Console, error_line, strip_controls};
use executor_core::prelude::async_trait;
use executor_core::{BuildError, Cancellation, Job};
use scheduler::retries_allowed;
use std::sync::Arc;
use tokio::sync::Mutex;
use workstation::{FailedScript, RunControls, Visit, VisitPoint, Visitor};

/// Opens a shell in each job whose script fails for good, one after the other.
#[derive(Debug)]
pub(super) struct FailureShell {
    console: Arc<Console>,
    controls: RunControls,
    profile: bool,
    /// Held by the shell that uses the terminal.
    turn: Mutex<()>,
}

impl FailureShell {
    pub(super) fn new(console: Arc<Console>, controls: &RunControls, profile: bool) -> Self {
        Self {
            console,
            controls: controls.clone(),
            profile,
            turn: Mutex::default(),
        }
    }
}

#[async_trait]
impl Visitor for FailureShell {
    fn enters(&self, job: &Job, attempt: u32, point: &VisitPoint) -> bool {
        match point {
            VisitPoint::AfterFailure(failed) => is_final(job, attempt, failed),
            _ => false,
        }
    }

    fn commands(&self, _job: &Job) -> Option<Vec<String>> {
        None
    }

    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError> {
        let failed = |error| BuildError::system("terminal", "use it", error);
        let _clock = self.controls.first().stop_clock();
        let _turn = tokio::select! {
            turn = self.turn.lock() => turn,
            _ = cancellation.canceled() => return Ok(()),
        };
        let console = Arc::clone(&self.console);
        let held = tokio::task::spawn_blocking(move || console.hold()).await;
        let _held = held.map_err(|error| failed(error.into()))?;
        let terminal = OwnTerminal::open().map_err(failed)?;
        greet(&visit);
        let mut request = visit.terminal.request(terminal.size());
        request.profile = self.profile;
        let opener = &visit.terminal.terminal;
        let mut session = opener.open(request, cancellation).await?;
        attach(&mut *session, &terminal, cancellation)
            .await
            .map_err(failed)?;
        Ok(())
    }
}

/// Returns whether a failure is final: neither allowed nor retried.
fn is_final(job: &Job, attempt: u32, failed: &FailedScript) -> bool {
    let Some(definition) = job.definition.as_deref() else {
        return true;
    };
    let code = failed.exit_code.map(|code| code.0);
    let reason = failed.reason.as_str();
    let is_tried_again = attempt <= retries_allowed(definition.retry.as_ref(), Some(reason), code);
    let codes = definition.allow_failure_exit_codes.iter().flatten();
    let is_allowed = definition.allow_failure || codes.copied().any(|it| Some(it) == code);
    !is_tried_again && !is_allowed
}

fn greet(visit: &Visit) {
    let name = strip_controls(&visit.job.job_info.name);
    let VisitPoint::AfterFailure(failed) = &visit.point else {
        return;
    };
    let message = strip_controls(&failed.message);
    let directory = strip_controls(&visit.terminal.directory);
    // Not through the console, whose output is held back.
    let text = format!(
        "\njob {name:?} failed: {message}\nits files are in {directory}; other jobs continue meanwhile\n\
         leave with `exit` or Ctrl-D; the job stays failed, and continues with after_script and artifacts\n"
    );
    if console::print(text.as_bytes()).is_err() {
        error_line(&text);
    }
}
