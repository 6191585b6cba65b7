//! Control groups, version 2: containment that no process can escape.
//!
//! A process cannot leave its cgroup by `setsid` or by changing its environment, and one write to `cgroup.kill`
//! kills all members, however fast they fork.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fail_point::fail_point;
use rustix::io::Errno;

/// How long the members of a killed cgroup may take to die.
pub(crate) const DEATH_DEADLINE: Duration = Duration::from_secs(10);

/// Returns the directory of the runner's own cgroup, in which cgroups can be created.
pub(crate) fn own_group() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let membership = fs::read_to_string("/proc/self/cgroup")?;
    locate(&mounts, &membership).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Combines the mount table with the runner's membership line.
///
/// The unified hierarchy may be mounted anywhere: at `/sys/fs/cgroup`, beside
/// version 1 at `/sys/fs/cgroup/unified`, or with only a subtree visible.
fn locate(mounts: &str, membership: &str) -> Option<PathBuf> {
    let own = membership
        .lines()
        .find_map(|line| line.strip_prefix("0::"))?;
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else {
            continue;
        };
        if right.split(' ').next() != Some("cgroup2") {
            continue;
        }
        let mut fields = left.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let Ok(relative) = Path::new(own).strip_prefix(root) else {
            continue;
        };
        if relative.components().any(|part| part.as_os_str() == "..") {
            continue;
        }
        return Some(Path::new(&unescape(point)).join(relative));
    }
    None
}

/// Decodes the octal escapes of the mount table.
fn unescape(field: &str) -> String {
    field
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\134", "\\")
}

/// A cgroup of the runner: a directory that is removed once no process lives in it.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    path: PathBuf,
}

impl Group {
    /// Creates the cgroup.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        fail_point!("process::cgroup::create", fs::create_dir(&path))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the kernel can kill whole cgroups (since Linux 5.14).
    pub(crate) fn can_kill(&self) -> bool {
        self.path.join("cgroup.kill").exists()
    }

    /// Enables a controller for the cgroups below; false if it is not available.
    pub(crate) fn delegate(path: &Path, controller: &str) -> bool {
        let control = path.join("cgroup.subtree_control");
        let text = format!("+{controller}");
        fail_point!("process::cgroup::delegate", fs::write(control, text)).is_ok()
    }

    /// Limits the number of processes; false without the controller.
    pub(crate) fn limit_pids(&self, limit: u64) -> bool {
        fs::write(self.path.join("pids.max"), limit.to_string()).is_ok()
    }

    /// Kills all members, also of the cgroups below.
    pub(crate) fn kill(&self) -> io::Result<()> {
        kill(&self.path)
    }

    /// Kills all members and removes the cgroup.
    pub(crate) async fn remove(&self) -> io::Result<()> {
        let deadline = Instant::now() + DEATH_DEADLINE;
        let mut pause = Duration::from_millis(1);
        while !self.try_remove()? {
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        Ok(())
    }

    /// As [`remove`](Self::remove), but blocks, for at most `timeout`.
    pub(crate) fn remove_blocking(&self, timeout: Duration) -> io::Result<()> {
        remove_blocking(&self.path, timeout)
    }

    /// Removes the cgroup if no process lives in it; otherwise kills the members and returns false.
    ///
    /// Removing first takes one call in the usual case: the kernel refuses exactly if a member lives.
    fn try_remove(&self) -> io::Result<bool> {
        try_remove(&self.path)
    }
}

/// Kills all members of the cgroup at `path`.
pub(crate) fn kill(path: &Path) -> io::Result<()> {
    let control = path.join("cgroup.kill");
    fail_point!("process::cgroup::kill", fs::write(control, "1"))
}

/// Kills and removes the cgroup at `path` with all cgroups below; blocks.
pub(crate) fn remove_blocking(path: &Path, timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    while !try_remove(path)? {
        if Instant::now() > deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn try_remove(path: &Path) -> io::Result<bool> {
    if removed(path)? {
        return Ok(true);
    }
    match kill(path) {
        // Another process, such as the guardian, was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        result => result?,
    }
    remove_below(path);
    removed(path)
}

fn removed(path: &Path) -> io::Result<bool> {
    fail_point!(
        "process::cgroup::remove",
        match rustix::fs::rmdir(path) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::BUSY | Errno::NOTEMPTY) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    )
}

/// Removes the empty cgroups below, deepest first.
fn remove_below(path: &Path) {
    let Ok(entries) = fs::read_dir(path) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
            let _ = rustix::fs::rmdir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mounts: &str, membership: &str, expected: Option<&str>) {
        assert_eq!(locate(mounts, membership), expected.map(PathBuf::from));
    }

    #[test]
    fn unified_hierarchy_is_found_where_it_is_mounted() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        check(hybrid, "8:pids:/\n0::/\n", Some("/sys/fs/cgroup/unified/"));
        check(
            hybrid,
            "0::/a.slice/b\n",
            Some("/sys/fs/cgroup/unified/a.slice/b"),
        );
        check(hybrid, "8:pids:/\n", None);
        check("31 23 0:28 / /sys rw - sysfs sysfs rw\n", "0::/\n", None);
    }

    #[test]
    fn group_outside_the_visible_subtree_is_not_used() {
        let bind = "41 31 0:38 /docker/x /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw\n";
        check(bind, "0::/docker/x/y\n", Some("/sys/fs/cgroup/y"));
        check(bind, "0::/other\n", None);
        let namespaced = "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        check(namespaced, "0::/../sibling\n", None);
    }
}
