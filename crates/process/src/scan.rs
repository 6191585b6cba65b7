//! Finds processes in `/proc` by marker, group or ancestry.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, getuid, pidfd_open, pidfd_send_signal};

use crate::command::{MARKER_NAME, MARKER_SEPARATOR};
use crate::limits::{has_lock_limit, lock_limits};

/// The number of rounds of finding and killing processes before giving up, about 10 s.
const ROUNDS: u64 = 400;

/// The number of rounds that must find nothing: process ids start again from the lowest, where the list was already read.
const QUIET_ROUNDS: u32 = 3;

/// The largest number of listings in a round: on a busy machine there are always new processes.
const LISTS: u32 = 50;

/// How often an empty environment is read again; it is empty for a moment while a program is loaded.
const READS: u32 = 5;
const PAUSE: Duration = Duration::from_micros(200);

/// The fields of `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) state: State,
    pub(crate) parent: Option<Pid>,
    pub(crate) group: Option<Pid>,
    /// The start time; with the process id it is unique.
    pub(crate) started: u64,
}

/// Whether a process can still act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Alive,
    Dead,
}

/// The criterion for the processes to find.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sought<'a> {
    /// The environment has exactly this marker.
    Marker(&'a str),
    /// The environment has a marker with this prefix.
    MarkerPrefix(&'a str),
}

/// Reads one process; `None` if it does not exist.
pub(crate) fn process(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(pid, &stat)
}

/// The name is in parentheses and may contain any byte, so fields are counted after the last parenthesis.
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
    // A process whose main thread is dead but whose other threads run looks dead.
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

/// Reads a process id; the kernel writes 0 or -1 for none.
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

/// Lists the processes whose limit on file locks is one of this marker's.
pub(crate) fn with_lock_limit(marker: &str) -> Vec<Pid> {
    let Some(limits) = lock_limits(marker) else {
        return Vec::new();
    };
    all()
        .filter(|pid| is_ours(*pid) && has_lock_limit(*pid, &limits))
        .collect()
}

/// Kills the processes found until there are none; returns the largest number found at a time.
///
/// `groups` is as for [`kill`]; `roots` is called before each round. Blocks until they are dead. The error is the
/// number of survivors.
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

/// Kills the processes found and all their descendants; returns their number.
///
/// `groups` and `roots` name further processes to kill: members of these process groups and these processes.
/// Never kills this process.
pub(crate) fn kill(sought: Sought<'_>, groups: &[Pid], roots: &[Pid]) -> usize {
    let mut candidates = Vec::new();
    let mut members: HashSet<Pid> = HashSet::new();
    let mut seen: HashSet<Pid> = HashSet::new();
    // A list is as old as its first entry: children of a process that started them and ended before it was read are
    // only in the next list.
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
    // Parents may follow their children in the list, so this is repeated until nothing changes.
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

/// Kills a process unless its id was reused since the scan.
fn kill_same(seen: &Process) {
    let Ok(pidfd) = pidfd_open(seen.pid, PidfdFlags::empty()) else {
        return;
    };
    // The descriptor refers to one process: either the one seen, or, if that has died, one that the start time reveals.
    if process(seen.pid).is_some_and(|now| now.started == seen.started) {
        // The caller finds a process again that may not be signalled.
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    }
}

fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| number(entry.file_name().to_str()?))
}

/// Other users' environments cannot be read, and their processes cannot be killed.
fn is_ours(pid: Pid) -> bool {
    let uid = getuid();
    uid.is_root()
        || fs::metadata(PathBuf::from(format!("/proc/{pid}")))
            .is_ok_and(|metadata| metadata.uid() == uid.as_raw())
}

/// Returns whether the environment of a process meets the criterion.
fn carries(process: &Process, sought: Sought<'_>) -> bool {
    let Some(environment) = environment(process) else {
        return false;
    };
    environment.split(|byte| *byte == 0).any(|pair| {
        let value = pair
            .strip_prefix(MARKER_NAME.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="));
        // A runner inside a job puts the job's marker before its own.
        let mut markers = value
            .unwrap_or_default()
            .split(|byte| *byte == MARKER_SEPARATOR);
        markers.any(|marker| match sought {
            Sought::Marker(whole) => marker == whole.as_bytes(),
            Sought::MarkerPrefix(prefix) => marker.starts_with(prefix.as_bytes()),
        })
    })
}

/// Reads the environment of a living process. Kernel threads have none, and are in no group.
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
