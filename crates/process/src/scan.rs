//! Finding processes in `/proc` by marker, group or ancestry.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, getuid, pidfd_open, pidfd_send_signal};

use crate::command::{MARKER_NAME, MARKER_SEPARATOR};

/// Rounds of looking for and killing processes before giving up, about 10 s.
const ROUNDS: u64 = 400;

/// Rounds that must find nothing: numbers of processes begin again from the lowest, where the
/// list has been read already.
const QUIET_ROUNDS: u32 = 3;

/// How often the processes are listed in a round, at most: on a busy machine there are always new ones.
const LISTS: u32 = 50;

/// How often an environment is read that is empty, as it is for a moment while a program is loaded.
const READS: u32 = 5;
const PAUSE: Duration = Duration::from_micros(200);

/// What `/proc/<pid>/stat` says of a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) state: State,
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Option<Pid>,
    /// Together with the number this names one process for all time.
    pub(crate) started: u64,
}

/// Whether a process can still do anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Alive,
    Dead,
}

/// What makes a process one of those sought.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sought<'a> {
    /// Its environment holds exactly this marker.
    Marker(&'a str),
    /// Its environment holds a marker that begins so.
    MarkerPrefix(&'a str),
}

/// Reads one process; `None` if there is no such process.
pub(crate) fn process(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// The name is in parentheses and may hold any byte, so fields count from the last one.
fn parse(pid: Pid, stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&stat[end + 1..])
        .ok()?
        .split_ascii_whitespace();
    let letter = fields.next()?;
    let parent = number(fields.next()?);
    let group = number(fields.next()?);
    let threads: u64 = fields.nth(14)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // A dead main thread whose siblings run on looks like a dead process.
    let dead = matches!(letter, "Z" | "X" | "x") && threads <= 1;
    let state = if dead { State::Dead } else { State::Alive };
    Some(Process {
        pid,
        state,
        parent,
        group,
        started,
    })
}

/// Reads a process number; the kernel writes 0 or -1 for none.
pub(crate) fn number(field: &str) -> Option<Pid> {
    field
        .parse()
        .ok()
        .filter(|number| *number > 0)
        .and_then(Pid::from_raw)
}

/// Lists the children of a process by reading all processes.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let all = all().filter_map(process);
    all.filter(|process| process.parent == Some(parent))
        .map(|process| process.pid)
        .collect()
}

/// Kills the processes sought until there are none; returns the most there were at a time.
///
/// `groups` as for [`kill`]; `roots` is asked before each round. Blocks for as
/// long as they take to die. The error is how many outlive it all.
pub(crate) fn end(
    sought: Sought<'_>,
    groups: &[Pid],
    mut roots: impl FnMut() -> Vec<Pid>,
) -> Result<usize, usize> {
    let (mut most, mut last, mut quiet) = (0, 0, 0);
    for round in 0..ROUNDS {
        last = kill(sought, groups, &roots());
        most = most.max(last);
        quiet = if last == 0 { quiet + 1 } else { 0 };
        if quiet == QUIET_ROUNDS {
            return Ok(most);
        }
        std::thread::sleep(Duration::from_millis(round.min(25)));
    }
    Err(last)
}

/// Kills the processes sought and all their descendants; returns how many there were.
///
/// `groups` and `roots` name further processes to kill: members of these process
/// groups and these processes themselves. Never kills this process.
pub(crate) fn kill(sought: Sought<'_>, groups: &[Pid], roots: &[Pid]) -> usize {
    let mut candidates = Vec::new();
    let mut members: HashSet<Pid> = HashSet::new();
    let mut seen: HashSet<Pid> = HashSet::new();
    // A list is as old as its first name: what one of the list has started before it was looked at,
    // and then ended, is in the next one.
    for _ in 0..LISTS {
        let new: Vec<Pid> = all().filter(|pid| seen.insert(*pid)).collect();
        if new.is_empty() {
            break;
        }
        for pid in new.into_iter().filter(|pid| is_ours(*pid)) {
            let Some(process) = process(pid).filter(|process| process.state == State::Alive) else {
                continue;
            };
            let in_group = process.group.is_some_and(|group| groups.contains(&group));
            if in_group || roots.contains(&pid) || carries(&process, sought) {
                members.insert(pid);
            }
            candidates.push(process);
        }
    }
    // Parents may come after their children in the list, hence until nothing changes.
    loop {
        let before = members.len();
        for process in &candidates {
            if process
                .parent
                .is_some_and(|parent| members.contains(&parent))
            {
                members.insert(process.pid);
            }
        }
        if members.len() == before {
            break;
        }
    }
    members.remove(&getpid());
    for process in candidates
        .iter()
        .filter(|process| members.contains(&process.pid))
    {
        kill_same(process);
    }
    members.len()
}

/// Kills a process unless its number has passed to another one since the scan.
fn kill_same(seen: &Process) {
    let Ok(pidfd) = pidfd_open(seen.pid, PidfdFlags::empty()) else {
        return;
    };
    // The descriptor fixes the process; what is read now is about the same one
    // or, if that has died meanwhile, the signal goes nowhere.
    if process(seen.pid).is_some_and(|now| now.started == seen.started) {
        // A process that may not be signalled is found again by the caller.
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    }
}

fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| number(entry.file_name().to_str()?))
}

/// Another user's environment cannot be read, and their processes not be killed.
fn is_ours(pid: Pid) -> bool {
    let uid = getuid();
    uid.is_root()
        || fs::metadata(PathBuf::from(format!("/proc/{pid}")))
            .is_ok_and(|metadata| metadata.uid() == uid.as_raw())
}

/// Returns whether the environment of a process has what is sought.
fn carries(process: &Process, sought: Sought<'_>) -> bool {
    let Some(environment) = environment(process) else {
        return false;
    };
    environment.split(|byte| *byte == 0).any(|pair| {
        let value = pair
            .strip_prefix(MARKER_NAME.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="));
        // A runner inside a job hands on the job's marker before its own.
        let mut markers = value
            .unwrap_or_default()
            .split(|byte| *byte == MARKER_SEPARATOR);
        markers.any(|marker| match sought {
            Sought::Marker(whole) => marker == whole.as_bytes(),
            Sought::MarkerPrefix(prefix) => marker.starts_with(prefix.as_bytes()),
        })
    })
}

/// Reads the environment of a living process. That of the kernel's own is empty for ever, and they are in no group.
fn environment(process: &Process) -> Option<Vec<u8>> {
    let path = format!("/proc/{}/environ", process.pid);
    let again = if process.group.is_some() {
        READS - 1
    } else {
        0
    };
    for _ in 0..again {
        let environment = fs::read(&path).ok()?;
        if !environment.is_empty() {
            return Some(environment);
        }
        std::thread::sleep(PAUSE);
    }
    fs::read(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_parentheses_and_spaces_is_skipped() {
        let pid = Pid::from_raw(7).unwrap();
        let rest = "3 5 1 0 -1 6 7 8 9 10 11 12 13 14 15 16 1 0 4711 99";
        let process = parse(pid, format!("7 (a) Z 9 (b c)) S {rest}").as_bytes()).unwrap();
        assert_eq!(process.state, State::Alive);
        assert_eq!(process.parent, Pid::from_raw(3));
        assert_eq!(process.group, Pid::from_raw(5));
        assert_eq!(process.started, 4711);
        let dead = parse(pid, format!("7 (x) Z {rest}").as_bytes()).unwrap();
        assert_eq!(dead.state, State::Dead);
        assert!(parse(pid, b"garbage").is_none());
    }
}
