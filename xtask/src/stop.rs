//! Signals that stop a chore which has something to remove.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long the commands of a stopped chore may take to end.
const GRACE: Duration = Duration::from_secs(10);

static IS_REQUESTED: AtomicBool = AtomicBool::new(false);

/// The commands that run.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// From now on a signal that stops this process ends the commands that run, with all their descendants. The chore then fails, and removes
/// what it has started.
///
/// # Errors
///
/// When signals cannot be received.
pub(crate) fn listen() -> anyhow::Result<()> {
    static ONCE: Once = Once::new();
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).context("receive signals")?;
    ONCE.call_once(|| {
        thread::spawn(move || {
            for _ in signals.forever() {
                // A second signal is for those that the first one did not end.
                if IS_REQUESTED.swap(true, Ordering::Relaxed) {
                    end_all("KILL");
                    continue;
                }
                end_all("TERM");
                thread::spawn(|| {
                    thread::sleep(GRACE);
                    end_all("KILL");
                });
            }
        });
    });
    Ok(())
}

/// Fails once a signal has asked for the end.
///
/// # Errors
///
/// See above.
pub(crate) fn check() -> anyhow::Result<()> {
    if IS_REQUESTED.load(Ordering::Relaxed) {
        bail!("stopped by a signal");
    }
    Ok(())
}

/// A command that ends with this process, until this is dropped.
#[derive(Debug)]
pub(crate) struct Running(u32);

impl Running {
    pub(crate) fn new(id: u32) -> Self {
        running(|all| all.push(id));
        Self(id)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        running(|all| all.retain(|id| *id != self.0));
    }
}

fn running<T>(change: impl FnOnce(&mut Vec<u32>) -> T) -> T {
    change(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Sends a signal to the commands that run, and to their descendants.
fn end_all(signal: &str) {
    let mut ids = running(|all| all.clone());
    let mut at = 0;
    while let Some(id) = ids.get(at) {
        let children = children(*id);
        ids.extend(children);
        at += 1;
    }
    if ids.is_empty() {
        return;
    }
    let ids = ids.iter().map(ToString::to_string);
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -s \"$0\" \"$@\"", signal]).args(ids);
    // Some may have ended.
    let _ = kill.stdin(Stdio::null()).stderr(Stdio::null()).status();
}

fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads.map(|it| fs::read_to_string(it.path().join("children")));
    let ids = lists.flat_map(|list| {
        let list = list.unwrap_or_default();
        let ids = list.split_whitespace().map(str::parse);
        ids.collect::<Result<Vec<u32>, _>>().unwrap_or_default()
    });
    ids.collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn commands_end_with_their_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'sleep 600 & echo begun; wait'; true"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut first = [0; 6];
        output.read_exact(&mut first).unwrap();
        let running = Running::new(child.id());
        end_all("TERM");
        assert!(!child.wait().unwrap().success());
        drop(running);
        // It ends when no descendant has it.
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(running_is_empty_of(child.id()));
    }

    fn running_is_empty_of(id: u32) -> bool {
        running(|all| !all.contains(&id))
    }
}
