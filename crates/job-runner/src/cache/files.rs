use super::job_cache::JobCache;
use crate::artifacts::{CollectError, Collected, collect};
use crate::directories::JobDirectory;
use crate::panics::off_thread;
use crate::stages::Stages;
use executor_core::{BuildError, Cancellation};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

impl Stages<'_, '_> {
    /// Finds the files of a cache, and the directories whose modes must be kept.
    pub(super) async fn files_of(
        &mut self,
        cache: &JobCache,
        project: &JobDirectory,
        cancellation: &Cancellation,
    ) -> Result<Collected, BuildError> {
        let untracked = self
            .untracked(cache.untracked, &project.host, cancellation)
            .await?;
        let (directory, paths) = (project.clone(), cache.paths.clone());
        let collected = off_thread(move || {
            let collected = collect(&directory, &paths, &untracked, &[])?;
            Ok(with_own_modes(&directory, collected))
        })
        .await;
        let collected = collected.unwrap_or_else(|error| Err(CollectError::Directory(error)));
        collected.map_err(|error| BuildError::config(error.to_string()))
    }
}

/// Leaves out the directories that a restore creates by itself.
pub(crate) fn with_own_modes(directory: &JobDirectory, mut collected: Collected) -> Collected {
    let has_own_mode = |path: &PathBuf| has_own_mode(&directory.join(path));
    collected.directories.retain(has_own_mode);
    collected
}

/// Returns the files to cache, and directories with modes of their own.
pub(crate) fn cached_paths(collected: Collected) -> Vec<PathBuf> {
    let mut paths = collected.paths;
    paths.extend(collected.directories);
    paths.sort_unstable();
    paths
}

/// Returns whether a directory has other permissions than the one that a restore creates.
///
/// Missing permissions of the owner do not count: the owner has them after the restore.
fn has_own_mode(directory: &Path) -> bool {
    static UMASK: LazyLock<u32> = LazyLock::new(umask);
    let mode = fs::symlink_metadata(directory).map(|it| it.mode() & 0o777);
    mode.is_ok_and(|mode| is_own(mode, *UMASK))
}

/// Where the umask takes from 755, what a restore creates differs between runs, and every mode counts.
fn is_own(mode: u32, umask: u32) -> bool {
    mode | 0o700 != 0o755 || umask & 0o755 != 0
}

/// Returns the umask of this process, as `/proc` shows it. Reading it by a system call would change it for a moment,
/// also for other threads. Where `/proc` does not show it, the usual `022` is assumed.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let umask = status.lines().find_map(|it| it.strip_prefix("Umask:"));
    let umask = umask.and_then(|it| u32::from_str_radix(it.trim(), 8).ok());
    umask.unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_modes_are_left_out_only_where_a_restore_creates_them() {
        for umask in [0o022, 0o002, 0] {
            assert!(!is_own(0o755, umask) && !is_own(0o055, umask));
            assert!(is_own(0o700, umask) && is_own(0o777, umask));
        }
        for umask in [0o077, 0o027] {
            assert!(is_own(0o755, umask) && is_own(0o700, umask) && is_own(0o750, umask));
        }
    }
}
