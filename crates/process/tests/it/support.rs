//! Helpers of the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::{
    Command, Containment, NeverStop, Outcome, ProcessTree, Settings, Stdin, Stream, Supervisor,
    Timing,
};

/// A limit that also fits a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Both kinds of containment.
pub(crate) const BOTH: [Containment; 2] = [Containment::Auto, Containment::NoCgroup];

/// Starts a run without journal and guardian.
pub(crate) fn supervisor(containment: Containment) -> Supervisor {
    Supervisor::start(Settings {
        containment,
        ..Settings::default()
    })
    .unwrap()
}

/// Returns the tree of a new run.
pub(crate) fn tree(containment: Containment) -> ProcessTree {
    supervisor(containment).tree()
}

/// Returns a shell that reads `script` from its standard input.
pub(crate) fn sh(script: &str) -> Command {
    Command::new("sh")
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdin::Bytes(script.as_bytes().to_vec()))
}

/// Both output streams as text.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a command to its end.
pub(crate) async fn run(tree: &ProcessTree, command: &Command) -> (Outcome, Output) {
    run_with(tree, command, &Timing::default()).await
}

/// Runs a command to its end, with these timeouts.
pub(crate) async fn run_with(
    tree: &ProcessTree,
    command: &Command,
    timing: &Timing,
) -> (Outcome, Output) {
    let mut streams = [Vec::new(), Vec::new()];
    let mut sink = |stream: Stream, bytes: &[u8]| {
        streams[stream as usize].extend_from_slice(bytes);
    };
    let process = tree.spawn(command).unwrap();
    let outcome = process.run(&mut sink, &NeverStop, timing).await.unwrap();
    let [stdout, stderr] = streams.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (outcome, Output { stdout, stderr })
}

/// Reads the process ids that a script noted, one a line.
pub(crate) fn noted(path: &Path) -> Vec<u32> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

/// Returns whether a process is alive.
///
/// Ids are soon reused on a busy machine, so it must also have `trace` in its arguments or environment.
pub(crate) fn lives(pid: u32, trace: &Path) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    let shows = |file: &str| shows(pid, file, &trace.display().to_string());
    !matches!(state, Some('Z' | 'X')) && (shows("environ") || shows("cmdline"))
}

/// Returns whether a file of a process below `/proc` contains a text.
pub(crate) fn shows(pid: u32, file: &str, text: &str) -> bool {
    let content = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    content
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Finds processes, other than this one, by a text in one of their files.
pub(crate) fn processes(file: &str, text: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let own = std::process::id();
    pids.filter(|pid| *pid != own && shows(*pid, file, text))
        .collect()
}

/// Waits until a condition holds, since the kernel has no events for most of them.
pub(crate) async fn until(what: &str, condition: impl FnMut() -> bool) {
    until_or(what, condition).await.unwrap();
}

/// As [`until`], but the caller reports the failure.
pub(crate) async fn until_or(
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), String> {
    let start = std::time::Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return Err(format!("waited in vain for {what}"));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Returns the runner's cgroup in the unified hierarchy, if any.
pub(crate) fn run_group(supervisor: &Supervisor) -> Option<PathBuf> {
    let name = format!("runwright-{}", supervisor.id());
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .iter()
        .map(|mount| Path::new(mount).join(&name))
        .find(|path| path.exists())
}
