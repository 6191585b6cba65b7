//! Finds processes of this host by a mark in their environment variables.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// The variable with the mark.
pub(crate) const VARIABLE: &str = "EXECUTOR_TESTKIT_MARK";

/// Returns a unique mark.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    format!(
        "{}.{}.{}",
        std::process::id(),
        now.unwrap_or_default().as_nanos(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns whether this host can list processes.
pub(crate) fn can_list() -> bool {
    std::path::Path::new("/proc/self/environ").exists()
}

/// Returns the processes of this host that jobs of this process's suites left behind, each with its command line.
///
/// For [`SuiteOptions::leftovers`](crate::SuiteOptions::leftovers) of an executor whose workspace is remote although its
/// processes run on this host. Call it when no job of a suite runs.
pub fn marked_processes() -> Vec<String> {
    processes(&format!("{}.", std::process::id()))
}

/// Returns the processes whose mark begins with `mark`, each with its command line.
///
/// Empty where there is no `/proc`.
pub(crate) fn processes(mark: &str) -> Vec<String> {
    let entry = format!("{VARIABLE}={mark}");
    let mut found = Vec::new();
    for (pid, directory) in numbered_processes() {
        // The process may have ended, or belong to another user: then it is not a process of the job.
        let Ok(environment) = std::fs::read(directory.join("environ")) else {
            continue;
        };
        let marked = environment
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(entry.as_bytes()));
        if marked {
            found.push(format!("process {pid}: {}", command_line(&directory)));
        }
    }
    found
}

/// Returns the command lines of all visible processes.
pub(crate) fn command_lines() -> Vec<String> {
    numbered_processes()
        .map(|(_, directory)| command_line(&directory))
        .collect()
}

/// Waits until no process has the mark; returns the processes that still have it at the deadline.
///
/// The kernel may take a moment to remove a killed process.
pub(crate) async fn wait_until_gone(mark: &str, limit: Duration) -> Vec<String> {
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        let found = processes(mark);
        if found.is_empty() || tokio::time::Instant::now() >= deadline {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn numbered_processes() -> impl Iterator<Item = (u32, std::path::PathBuf)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    })
}

fn command_line(directory: &std::path::Path) -> String {
    let bytes = std::fs::read(directory.join("cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.replace('\0', " ").trim_end().to_owned()
}
