use process::{make_private_dir, remove_tree};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tokio::time::{Instant, sleep};

/// How long a repository that nobody asks for is kept.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// How long to wait before trying again to be alone in a repository.
const PAUSE: Duration = Duration::from_millis(50);

/// A repository that keeps what was fetched of a project: single commits, and of their files those
/// that somebody asked for. Nobody else uses it meanwhile.
#[derive(Debug)]
pub(super) struct Repository {
    path: PathBuf,
    url: String,
    /// Holds the lock.
    _lock: File,
}

impl Repository {
    /// Opens the repository of the project at `url`, and makes it if it is not there or not whole.
    ///
    /// Waits for others until `until`, and then fails with [`io::ErrorKind::TimedOut`].
    pub(super) async fn open(directory: &Path, url: &str, until: Instant) -> io::Result<Self> {
        make_private_dir(directory)?;
        let name = name_of(url);
        let lock = lock_file(&directory.join(format!("{name}.lock")))?;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        // It tells when the repository was needed last, and no more than that.
        let _ = lock.set_modified(SystemTime::now());
        let repository = Self {
            path: directory.join(format!("{name}.git")),
            url: url.to_owned(),
            _lock: lock,
        };
        if repository.path.join("HEAD").is_file() {
            repository.remove_scraps();
        } else {
            prune(directory);
            repository.renew()?;
        }
        Ok(repository)
    }

    /// Returns where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether a commit was fetched.
    pub(super) fn has(&self, sha: &str) -> bool {
        let mark = fs::read_to_string(self.path.join(mark_of(sha)));
        mark.is_ok_and(|mark| mark.trim() == sha)
    }

    /// Makes it anew, with nothing in it.
    pub(super) fn renew(&self) -> io::Result<()> {
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
        // What is there without it is not whole.
        fs::write(self.path.join("HEAD"), "ref: refs/heads/none\n")
    }

    /// Removes what a git left that was ended.
    fn remove_scraps(&self) {
        let Ok(files) = fs::read_dir(self.path.join("objects/pack")) else {
            return;
        };
        for file in files.flatten() {
            if file.file_name().as_encoded_bytes().starts_with(b"tmp_") {
                // What cannot be removed now does no harm.
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Returns the name of the reference that tells that a commit is there.
pub(super) fn mark_of(sha: &str) -> String {
    format!("refs/runwright/{sha}")
}

/// Removes the repositories that nobody asked for in a long time.
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
        let is_old = modified.is_ok_and(|it| it.elapsed().is_ok_and(|age| age > KEPT));
        let Ok(lock) = lock_file(&path) else {
            continue;
        };
        if is_old && lock.try_lock().is_ok() {
            // The lock stays: whoever waits for it must not hold one that is gone.
            if let Err(error) = remove_tree(&path.with_extension("git")) {
                tracing::debug!(path = %path.display(), %error, "Old repository stays.");
            }
        }
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// Returns a name for the repository that a person recognises and no other has.
fn name_of(url: &str) -> String {
    let project = url.rsplit('/').next().unwrap_or_default();
    let project = project.strip_suffix(".git").unwrap_or(project);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let readable: String = project.chars().map(plain).take(40).collect();
    let digest = Sha256::digest(url.as_bytes());
    let mut name = format!("{readable}-");
    for byte in digest.iter().take(12) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(120)
    }

    #[tokio::test]
    async fn one_that_is_not_whole_is_made_anew() {
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
    async fn a_second_one_waits_for_the_first_and_gives_up_in_time() {
        let home = tempfile::tempdir().expect("a directory");
        let open = |url| Repository::open(home.path(), url, soon());
        let _first = open("ssh://git@h/g/p.git").await.expect("made");
        let second = open("ssh://git@h/g/p.git").await;
        assert_eq!(second.expect_err("late").kind(), io::ErrorKind::TimedOut);
        open("ssh://git@h/h/p.git").await.expect("another project");
    }

    #[tokio::test]
    async fn old_ones_go() {
        let home = tempfile::tempdir().expect("a directory");
        let open = |url| Repository::open(home.path(), url, soon());
        let old = open("ssh://git@h/g/old.git").await.expect("made");
        let long_ago = SystemTime::now() - KEPT - Duration::from_mins(1);
        let old_path = old.path().to_owned();
        let lock = lock_file(&old_path.with_extension("lock")).expect("a lock");
        lock.set_modified(long_ago).expect("set");
        drop(old);
        let young = open("ssh://git@h/g/young.git").await.expect("made");
        assert!(!old_path.exists());
        assert!(young.path().exists());
    }

    #[test]
    fn names_are_readable_and_differ() {
        assert!(name_of("ssh://git@h/g/my.app.git").starts_with("my-app-"));
        assert_ne!(
            name_of("ssh://git@h/g/p.git"),
            name_of("ssh://git@h/h/p.git")
        );
    }
}
