use ::git::{directory_name, has_fetched, remove_leftovers};
use process::{FileLock, LockKind, make_private_dir, remove_tree};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep};

/// How long an unused repository is kept.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// The pause before the lock of a repository is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// A repository that caches single commits of a project, with the files that were requested. It is locked.
#[derive(Debug)]
pub(super) struct Repository {
    path: PathBuf,
    url: String,
    _lock: FileLock,
}

impl Repository {
    /// Opens the repository of the project at `url`, and creates it if it is absent or incomplete.
    ///
    /// Waits for its lock until `deadline`, and then fails with [`io::ErrorKind::TimedOut`].
    pub(super) async fn open(directory: &Path, url: &str, deadline: Instant) -> io::Result<Self> {
        make_private_dir(directory)?;
        let name = directory_name(url, url);
        let mut file = FileLock::open_file(&directory.join(format!("{name}.lock")))?;
        let lock = loop {
            file = match FileLock::attempt(file, LockKind::Exclusive)? {
                Ok(lock) => break lock,
                Err(_) if Instant::now() >= deadline => return Err(io::ErrorKind::TimedOut.into()),
                Err(file) => file,
            };
            sleep(PAUSE).await;
        };
        // The time of last use, for `prune`; failing to set it does no harm.
        let _ = lock.file().set_modified(SystemTime::now());
        let repository = Self {
            path: directory.join(format!("{name}.git")),
            url: url.to_owned(),
            _lock: lock,
        };
        if repository.path.join("HEAD").is_file() {
            remove_leftovers(&repository.path);
        } else {
            prune(directory);
            repository.create()?;
        }
        Ok(repository)
    }

    /// Returns its directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a commit was fetched.
    pub(super) fn has(&self, sha: &str) -> bool {
        has_fetched(&self.path, sha)
    }

    /// Creates it, empty, in place of an earlier one.
    pub(super) fn create(&self) -> io::Result<()> {
        match remove_tree(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        make_private_dir(&self.path)?;
        fs::create_dir(self.path.join("objects"))?;
        fs::create_dir(self.path.join("refs"))?;
        let url = self.url.replace('\\', "\\\\").replace('"', "\\\"");
        let config = format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tpartialClone = \
             origin\n[remote \"origin\"]\n\turl = \"{url}\"\n\tpromisor = true\n\
             \tpartialCloneFilter = blob:none\n"
        );
        fs::write(self.path.join("config"), config)?;
        // Last: a repository without a HEAD is incomplete.
        fs::write(self.path.join("HEAD"), "ref: refs/heads/none\n")
    }
}

/// Removes repositories that were not used for [`MAX_AGE`].
fn prune(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|it| it != "lock") {
            continue;
        }
        let modified = entry.metadata().and_then(|it| it.modified());
        let is_old = modified.is_ok_and(|it| it.elapsed().is_ok_and(|age| age > MAX_AGE));
        let lock = || FileLock::if_free(FileLock::open_file(&path)?, LockKind::Exclusive);
        if is_old && let Ok(Some(_lock)) = lock() {
            // The lock file stays: another process that waits for it must not hold a removed one.
            if let Err(error) = remove_tree(&path.with_extension("git")) {
                tracing::debug!(path = %path.display(), %error, "Unused repository remains.");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(120)
    }

    #[tokio::test]
    async fn incomplete_repository_is_created_anew() {
        let home = tempfile::tempdir().expect("a directory");
        let open = || Repository::open(home.path(), "ssh://git@h/g/p.git", soon());
        let repository = open().await.expect("made");
        let path = repository.path().to_owned();
        fs::write(path.join("left"), "").expect("written");
        fs::create_dir_all(path.join("objects/pack")).expect("made");
        fs::write(path.join("objects/pack/tmp_pack_x"), "").expect("written");
        drop(repository);
        let repository = open().await.expect("opened");
        assert!(path.join("left").exists());
        assert!(!path.join("objects/pack/tmp_pack_x").exists());
        fs::remove_file(path.join("HEAD")).expect("removed");
        drop(repository);
        let _repository = open().await.expect("made anew");
        assert!(!path.join("left").exists());
    }

    #[tokio::test]
    async fn second_user_waits_for_the_first_until_its_deadline() {
        let home = tempfile::tempdir().expect("a directory");
        let open = |url| Repository::open(home.path(), url, soon());
        let _first = open("ssh://git@h/g/p.git").await.expect("made");
        let second = open("ssh://git@h/g/p.git").await;
        assert_eq!(second.expect_err("late").kind(), io::ErrorKind::TimedOut);
        open("ssh://git@h/h/p.git").await.expect("another project");
    }

    #[tokio::test]
    async fn unused_repositories_are_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let open = |url| Repository::open(home.path(), url, soon());
        let old = open("ssh://git@h/g/old.git").await.expect("made");
        let long_ago = SystemTime::now() - MAX_AGE - Duration::from_mins(1);
        let old_path = old.path().to_owned();
        let lock = FileLock::open_file(&old_path.with_extension("lock")).expect("a lock");
        lock.set_modified(long_ago).expect("set");
        drop(old);
        let young = open("ssh://git@h/g/young.git").await.expect("made");
        assert!(!old_path.exists());
        assert!(young.path().exists());
    }
}
