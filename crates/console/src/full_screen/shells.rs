//! A shell in a job, while the screen is closed.

use super::run_handle::RunHandle;
use super::shared::Shared;
use super::state::JobId;
use crate::streams::print;
use crate::terminal::{OwnTerminal, attach};
use crate::text::strip_controls;
use executor_core::Cancellation;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use workstation::{JobTerminal, restore_open_file_limit};

/// How often the end of a program that has the terminal is checked.
const POLL: Duration = Duration::from_millis(30);

/// How many polls a program has to end after TERM.
const TERM_POLLS: u32 = 100;

/// How many lines about errors are kept.
const MOST_ERRORS: usize = 20;

/// Opens a shell in a job: beside its script while it runs, else in an environment of its own. The terminal
/// must be restored before. Returns a note for the user.
pub(super) fn enter(shared: &Shared, run: &RunHandle, id: &JobId) -> Option<String> {
    let is_first = shared.state().run.is_first(id.pipeline);
    match run.job_terminal(id) {
        Some(terminal) => beside(run, id, &terminal),
        None if !is_first => {
            Some("a shell in a job of a child pipeline needs a running job".to_owned())
        }
        None => match alone(shared, run, id) {
            Ok(said) => said,
            Err(error) => Some(format!("no shell can be opened in the job: {error}")),
        },
    }
}

/// Opens a shell in a job that runs, and returns when one of them has ended.
fn beside(run: &RunHandle, id: &JobId, terminal: &JobTerminal) -> Option<String> {
    let name = strip_controls(&terminal.job);
    let directory = strip_controls(&terminal.directory);
    let text = format!(
        "job {name:?} in {directory}, which keeps running meanwhile\n\
         leave with `exit` or Ctrl-D; the shell ends when the job ends\n"
    );
    // If this cannot be printed, the shell still shows itself.
    let _ = print(text.as_bytes());
    let canceled = run.cancellation();
    let shells = run.shells();
    let ended = shells
        .runtime
        .block_on(open(terminal, shells.profile, canceled));
    match ended {
        Ok(()) if run.job_terminal(id).is_some() => None,
        Ok(()) => Some(format!("the shell has ended with the job {name}")),
        Err(error) => Some(format!("no shell can be opened in the job: {error}")),
    }
}

async fn open(job: &JobTerminal, profile: bool, canceled: &Cancellation) -> Result<(), String> {
    let terminal = OwnTerminal::open().map_err(|error| error.to_string())?;
    let mut request = job.request(terminal.size());
    request.profile = profile;
    let opened = job.terminal.open(request, canceled).await;
    let mut session = opened.map_err(|error| error.chain())?;
    let ended = attach(&mut *session, &terminal, canceled).await;
    ended.map(drop).map_err(|error| error.to_string())
}

/// Starts this program again as `runwright shell`, for a job that does not run.
fn alone(shared: &Shared, run: &RunHandle, id: &JobId) -> io::Result<Option<String>> {
    let shells = run.shells();
    shells.is_deaf.store(true, Ordering::SeqCst);
    let done = run_shell_command(shared, run, id);
    shells.is_deaf.store(false, Ordering::SeqCst);
    done
}

fn run_shell_command(shared: &Shared, run: &RunHandle, id: &JobId) -> io::Result<Option<String>> {
    let modes = tcgetattr(io::stdin())?;
    let mut child = start_shell_command(run, id)?;
    let stderr = child.stderr.take();
    let reader =
        thread::Builder::new().spawn(move || stderr.map(show_stderr).unwrap_or_default())?;
    let is_well = wait(&mut child, run);
    // A killed program may have left other modes.
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    let is_well = is_well?;
    let errors = reader.join().unwrap_or_default();
    if is_well {
        return Ok(None);
    }
    shared.state().tell(&errors.join("\n"));
    Ok(errors.into_iter().next())
}

/// Starts `runwright shell` on the same terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "it is this program, which looks after its own processes, and has to have the terminal; \
              what `process` starts has neither"
)]
fn start_shell_command(run: &RunHandle, id: &JobId) -> io::Result<Child> {
    let child = Command::new(std::env::current_exe()?)
        .args(&run.shells().words)
        .arg(&*id.job)
        .stderr(Stdio::piped())
        .spawn()?;
    restore_open_file_limit(child.id());
    Ok(child)
}

/// Waits for a program, and ends it when the run is canceled; returns whether it succeeded.
fn wait(child: &mut Child, run: &RunHandle) -> io::Result<bool> {
    while !run.cancellation().is_canceled() {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(POLL);
    }
    let id = rustix::process::Pid::from_child(child);
    // It may have ended by itself.
    let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    for _ in 0..TERM_POLLS {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()?;
    Ok(true)
}

/// Shows the standard error of a program, and returns its lines about errors.
fn show_stderr(stderr: ChildStderr) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = strip_controls(&String::from_utf8_lossy(&line));
        // Not through the screen, which is closed now.
        let _ = writeln!(io::stderr(), "{line}");
        if wrong.len() < MOST_ERRORS && line.starts_with("error: ") {
            wrong.push(line);
        }
    }
    wrong
}
