//! The resource limits of this process and of those that it starts.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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

/// Returns the limit on open files of a started process, if it differs from that of this process.
pub(crate) fn open_files() -> Option<Rlimit> {
    OPEN_FILES.get().copied()
}
