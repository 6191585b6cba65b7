//! The resource limits of this process and of those that it starts.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// The limit on open files that this process was started with, once it is raised.
static OPEN_FILES: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit on open files of this process as far as the system allows, and returns it; `None` is no limit.
///
/// Processes that are started later get the earlier limit: a program that uses `select` cannot use higher numbers, and
/// some programs close every number up to the limit.
pub fn raise_open_file_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if raised == limit {
        return limit.current;
    }
    // Set first, so that no child gets the raised limit.
    OPEN_FILES.get_or_init(|| limit);
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(_) => limit.current,
    }
}

/// Lets a write that would exceed the limit on the size of files (`ulimit -f`) fail, as on a full disk. Otherwise its signal
/// ends this process without a word.
///
/// The signal is handled, not ignored, since processes inherit what is ignored.
#[expect(unsafe_code, reason = "std does not handle signals")]
pub fn survive_file_size_limit() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing, so it may run at any moment.
    unsafe {
        libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t);
    }
}

/// Checks that this process can open the files of a tokio runtime: building the first one panics without them.
///
/// # Errors
///
/// When it cannot.
pub fn check_runtime_files() -> io::Result<()> {
    let files = || UnixStream::pair();
    // A runtime has a socket pair and three more files.
    files()
        .and_then(|pair| Ok([pair, files()?, files()?]))
        .map(drop)
}

/// Gives a process, which this crate did not start, the limit on open files that this one was started with.
pub fn restore_open_file_limit(id: u32) {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(limit)) = (pid, open_files()) {
        // It may have ended by itself.
        let _ = prlimit(Some(pid), Resource::Nofile, limit);
    }
}

/// Returns the limit on open files of a started process, if it differs from that of this process.
pub(crate) fn open_files() -> Option<Rlimit> {
    OPEN_FILES.get().copied()
}

/// How many processes of a tree, and trees of a run, have different limits.
const NUMBERS: u64 = 10_000;

/// The limits on file locks of the processes that a marker or its prefix stands for: `<run>.`, `<run>.<tree>.` or
/// `<run>.<tree>.<process>`.
///
/// Linux has not enforced this limit since version 2.6. Unlike the environment, every descendant inherits it, whatever
/// program it executes, and only root can raise it. So it identifies a process that has no other link to its job.
pub(crate) fn lock_limits(marker: &str) -> Option<RangeInclusive<u64>> {
    let mut parts = marker.split('.');
    // With 36 bits, the largest limit fits into 63.
    let run = u64::from_str_radix(parts.next()?.get(..9)?, 16).ok()?;
    let (mut first, mut count) = (run * NUMBERS * NUMBERS, NUMBERS * NUMBERS);
    for number in parts.filter_map(|part| part.parse::<u64>().ok()) {
        count /= NUMBERS;
        first += number % NUMBERS * count;
    }
    Some(first..=first + count - 1)
}

/// Returns the limit on file locks for a process with this marker.
///
/// `None` where this process has such a limit itself: it runs inside a job of another runner, whose limit stays.
pub(crate) fn lock_limit(marker: &str) -> Option<Rlimit> {
    if getrlimit(Resource::Locks).maximum.is_some() {
        return None;
    }
    let limit = Some(*lock_limits(marker)?.start());
    Some(Rlimit {
        current: limit,
        maximum: limit,
    })
}

/// Returns whether a process has one of these limits on file locks.
pub(crate) fn has_lock_limit(pid: Pid, among: &RangeInclusive<u64>) -> bool {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
    let mut lines = limits.lines();
    let locks = lines.find_map(|line| line.strip_prefix("Max file locks"));
    let hard = locks.and_then(|values| values.split_ascii_whitespace().nth(1)?.parse().ok());
    hard.is_some_and(|hard| among.contains(&hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_prefix_contain_those_of_its_markers() {
        let id = "fffffffff0123456789abcdef0123456";
        let all = |rest: &str| lock_limits(&format!("{id}.{rest}")).unwrap();
        assert_eq!(
            all("7.3"),
            6_871_947_673_500_070_003..=6_871_947_673_500_070_003
        );
        assert_eq!(
            all("7."),
            6_871_947_673_500_070_000..=6_871_947_673_500_079_999
        );
        assert_eq!(
            all(""),
            6_871_947_673_500_000_000..=6_871_947_673_599_999_999
        );
        assert_eq!(all("10007.10003"), all("7.3"));
        assert_eq!(lock_limits("short."), None);
    }
}
