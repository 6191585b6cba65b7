//! A shell in a job, while the screen steps aside.

use super::run_handle::RunHandle;
use super::state::JobId;
use super::view::Shared;
use crate::streams::print;
use crate::terminal::{OwnTerminal, attach};
use crate::text::strip_controls;
use executor_core::Cancellation;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;
use workstation::JobTerminal;

/// How often it is looked whether a program that has the terminal has ended.
const LOOK: Duration = Duration::from_millis(30);

/// How long a program that was told to end may take, in looks.
const LAST_LOOKS: u32 = 100;

/// How many lines about errors are kept.
const MOST_ERRORS: usize = 20;

/// How shells are opened.
#[derive(Debug)]
pub struct Shells {
    /// The runtime in which sessions run.
    pub runtime: Handle,
    /// Whether they read the start files of the user.
    pub profile: bool,
    /// The words of the command that enters a job of this run, without its name.
    pub words: Vec<String>,
    /// Set while Ctrl-C is for another program.
    pub is_deaf: Arc<AtomicBool>,
}

/// Opens a shell in a job: beside it while it runs, else in an environment of its own. The terminal must
/// be as it was before the screen had it. Returns what is to be said.
pub(super) fn enter(shared: &Shared, world: &RunHandle, id: &JobId) -> Option<String> {
    let is_first = shared.state().run.is_first(id.pipeline);
    match world.door(id) {
        Some(door) => beside(world, id, &door),
        None if !is_first => {
            Some("a job of a child pipeline can be entered only while it runs".to_owned())
        }
        None => match alone(shared, world, id) {
            Ok(said) => said,
            Err(error) => Some(format!("the job cannot be entered: {error}")),
        },
    }
}

/// Opens a shell in a job that runs, and returns when one of them has ended.
fn beside(world: &RunHandle, id: &JobId, door: &JobTerminal) -> Option<String> {
    let name = strip_controls(&door.job);
    let directory = strip_controls(&door.directory);
    let text = format!(
        "job {name:?} in {directory}, which goes on beside you\n\
         leave with `exit` or Ctrl-D; the shell ends when the job ends\n"
    );
    // Who cannot be told will see the shell.
    let _ = print(text.as_bytes());
    let canceled = world.cancellation();
    let shells = world.shells();
    let ended = shells
        .runtime
        .block_on(open(door, shells.profile, canceled));
    match ended {
        Ok(()) if world.door(id).is_some() => None,
        Ok(()) => Some(format!("the shell has ended with the job {name}")),
        Err(error) => Some(format!("the job cannot be entered: {error}")),
    }
}

async fn open(door: &JobTerminal, profile: bool, canceled: &Cancellation) -> Result<(), String> {
    let terminal = OwnTerminal::open().map_err(|error| error.to_string())?;
    let mut request = door.request(terminal.size());
    request.profile = profile;
    let opened = door.terminal.open(request, canceled).await;
    let mut session = opened.map_err(|error| error.chain())?;
    let ended = attach(&mut *session, &terminal, canceled).await;
    ended.map(drop).map_err(|error| error.to_string())
}

/// Lets this program enter a job that does not run, as `runwright shell` does.
fn alone(shared: &Shared, world: &RunHandle, id: &JobId) -> io::Result<Option<String>> {
    let shells = world.shells();
    shells.is_deaf.store(true, Ordering::SeqCst);
    let done = run(shared, world, id);
    shells.is_deaf.store(false, Ordering::SeqCst);
    done
}

fn run(shared: &Shared, world: &RunHandle, id: &JobId) -> io::Result<Option<String>> {
    let modes = tcgetattr(io::stdin())?;
    let mut child = again(world, id)?;
    let stderr = child.stderr.take();
    let reader = thread::Builder::new().spawn(move || stderr.map(passed_on).unwrap_or_default())?;
    let is_well = wait(&mut child, world);
    // One that was killed may have left them otherwise.
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    let is_well = is_well?;
    let errors = reader.join().unwrap_or_default();
    if is_well {
        return Ok(None);
    }
    shared.state().tell(&errors.join("\n"));
    Ok(errors.into_iter().next())
}

/// Starts this program once more, on the same terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "it is this program, which looks after its own processes, and has to have the terminal; \
              what `process` starts has neither"
)]
fn again(world: &RunHandle, id: &JobId) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(&world.shells().words)
        .arg(&*id.job)
        .stderr(Stdio::piped())
        .spawn()
}

/// Waits for the end of a program, and ends it when the run is canceled; returns whether all went well.
fn wait(child: &mut Child, world: &RunHandle) -> io::Result<bool> {
    while !world.cancellation().is_canceled() {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        thread::sleep(LOOK);
    }
    let id = rustix::process::Pid::from_child(child);
    // It may have ended by itself.
    let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    for _ in 0..LAST_LOOKS {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::sleep(LOOK);
    }
    child.kill()?;
    child.wait()?;
    Ok(true)
}

/// Shows what a program says, and returns those lines that say what was wrong.
fn passed_on(stderr: ChildStderr) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = strip_controls(&String::from_utf8_lossy(&line));
        // Not by way of the screen, which has stepped aside.
        let _ = writeln!(io::stderr(), "{line}");
        if wrong.len() < MOST_ERRORS && line.starts_with("error: ") {
            wrong.push(line);
        }
    }
    wrong
}
