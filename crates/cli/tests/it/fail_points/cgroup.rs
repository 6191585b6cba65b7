//! A cgroup around one case, which contains every process that the case starts.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::wait_until_described;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// A cgroup for one test; a process started in it cannot leave it.
#[derive(Debug)]
pub(super) struct CaseCgroup {
    path: PathBuf,
}

impl CaseCgroup {
    /// Creates one; returns `None` where that is not allowed.
    pub(super) fn new() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        let path = hierarchy()?.join(name);
        fs::create_dir(&path).ok()?;
        Some(Self { path })
    }

    /// Makes a command start in the cgroup.
    pub(super) fn around(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "echo $$ >\"$0\" && exec \"$@\""])
            .arg(self.path.join("cgroup.procs"))
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(std::process::Stdio::null())
            .process_group(0);
        if let Some(dir) = command.get_current_dir() {
            shell.current_dir(dir);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
    }

    /// Returns the processes in the cgroup and in the groups below.
    pub(super) fn processes(&self) -> Vec<String> {
        let mut found = members(&self.path);
        found.extend(self.processes_of_jobs());
        found
    }

    /// Returns the processes in the groups below, which exclude the program and its guardian.
    pub(super) fn processes_of_jobs(&self) -> Vec<String> {
        self.groups().iter().flat_map(|it| members(it)).collect()
    }

    /// Returns the groups below the cgroup, which are the program's.
    pub(super) fn groups(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.path.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    open.push(entry.path());
                    found.push(entry.path());
                }
            }
        }
        found
    }

    /// Kills every process in the cgroup, including the guardian.
    ///
    /// Kills them one by one: some kernels start no process in a group that was killed as a whole.
    pub(super) fn kill(&self) {
        let is_empty = || {
            let processes = self.processes();
            let pids = processes.iter().filter_map(|line| line.split(' ').next());
            // Some may be dead already, and some may have started another process since.
            let mut kill = Command::new("kill");
            kill.arg("-KILL").args(pids).output().unwrap();
            processes.is_empty()
        };
        wait_until_described(|| format!("{:?} to be killed", self.processes()), is_empty);
    }

    /// Waits until no process is left in the cgroup.
    pub(super) fn wait_until_empty(&self, when: &str) {
        wait_until_described(
            || format!("{:?} to be gone, {when}", self.processes()),
            || self.processes().is_empty(),
        );
    }
}

impl Drop for CaseCgroup {
    fn drop(&mut self) {
        // After a failed case many processes may remain.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
        for group in self.groups().iter().rev() {
            let _ = fs::remove_dir(group);
        }
        let _ = fs::remove_dir(&self.path);
    }
}

fn members(group: &Path) -> Vec<String> {
    let list = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    list.lines().map(described).collect()
}

fn described(pid: &str) -> String {
    let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{pid} {}", line.chars().take(80).collect::<String>())
}

/// Returns the mount point of the unified hierarchy.
fn hierarchy() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    line.split(' ').nth(4).map(PathBuf::from)
}
