use super::environment::Environment;
use super::error::EnvironmentsError;
use super::step::EnvironmentStep;
use fail_point::fail_point;
use jiff::Timestamp;
use process::{FileLock, LockKind, NewFile, make_private_dir_all};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another run that changes the list.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The deployment environments of a project: a list in a file that one process at a time changes.
///
/// A change replaces the file, so that readers see the old list or the new one.
#[derive(Debug, Clone)]
pub struct Environments {
    directory: PathBuf,
}

impl Environments {
    /// Returns the list in this directory, which is created when needed.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.join("environments.json")
    }

    /// Returns all environments, by name; none without a list.
    ///
    /// # Errors
    ///
    /// When the list cannot be read.
    pub fn list(&self) -> Result<Vec<Environment>, EnvironmentsError> {
        let path = self.file();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        serde_json::from_slice(&text).map_err(|source| EnvironmentsError::Damaged { path, source })
    }

    /// Returns the environment with this name or short name.
    ///
    /// # Errors
    ///
    /// When the list cannot be read, or has no such environment.
    pub fn find(&self, name: &str) -> Result<Environment, EnvironmentsError> {
        let all = self.list()?;
        let by_name = all.iter().find(|it| it.name == name);
        let found = by_name.or_else(|| all.iter().find(|it| it.slug == name));
        let name = name.to_owned();
        found.cloned().ok_or(EnvironmentsError::Unknown { name })
    }

    /// Returns the environments that should have stopped by `now`.
    ///
    /// # Errors
    ///
    /// When the list cannot be read.
    pub fn due(&self, now: Timestamp) -> Result<Vec<Environment>, EnvironmentsError> {
        let mut all = self.list()?;
        all.retain(|it| it.is_due(now));
        Ok(all)
    }

    /// Records what a job did.
    ///
    /// # Errors
    ///
    /// When the list cannot be read or written, or another run locks it for too long.
    pub fn record(&self, step: &EnvironmentStep) -> Result<(), EnvironmentsError> {
        self.change(&step.name, |before, now| step.apply(before, now))
    }

    /// Records that an environment was stopped without a job.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub fn mark_stopped(&self, name: &str) -> Result<(), EnvironmentsError> {
        self.change(name, |before, now| before.map(|it| it.stopped(now)))
    }

    fn change(
        &self,
        name: &str,
        change: impl FnOnce(Option<Environment>, Timestamp) -> Option<Environment>,
    ) -> Result<(), EnvironmentsError> {
        let made = fail_point!(
            "workstation::environments::make",
            make_private_dir_all(&self.directory)
        );
        made.map_err(io_error("create", &self.directory))?;
        let _lock = self.lock()?;
        let mut all = self.list()?;
        let at = all.iter().position(|it| it.name == name);
        let before = at.map(|at| all.remove(at));
        all.extend(change(before, Timestamp::now()));
        all.sort_by(|a, b| a.name.cmp(&b.name));
        self.write(&all)
    }

    fn lock(&self) -> Result<FileLock, EnvironmentsError> {
        let path = self.directory.join("environments.lock");
        let open = || FileLock::open_file(&path);
        let file = fail_point!("workstation::environments::open_lock", open());
        let file = file.map_err(io_error("open", &path))?;
        let end = Instant::now() + LOCK_TIMEOUT;
        // It is held only while one small file is written.
        let lock = FileLock::wait(file, LockKind::Exclusive, |_| Instant::now() > end);
        let lock = lock.map_err(io_error("lock", &path))?;
        lock.ok_or_else(|| EnvironmentsError::Busy { path: self.file() })
    }

    /// Writes the list. The caller holds the lock, so the temporary name is free, or is that of a killed writer.
    fn write(&self, all: &[Environment]) -> Result<(), EnvironmentsError> {
        let path = self.file();
        let partial = self.directory.join("environments.new");
        let text = serde_json::to_vec_pretty(all).map_err(|source| EnvironmentsError::Damaged {
            path: path.clone(),
            source,
        })?;
        let write = || {
            let mut new = NewFile::write(&partial, &text, 0o600)?;
            new.file().sync_data()?;
            Ok(new)
        };
        let new = fail_point!("workstation::environments::write", write())
            .map_err(io_error("write", &partial))?;
        fail_point!("workstation::environments::publish", new.replace(&path))
            .map_err(io_error("write", &path))
    }
}

fn io_error(
    action: &'static str,
    path: impl AsRef<Path>,
) -> impl FnOnce(io::Error) -> EnvironmentsError {
    let path = path.as_ref().to_owned();
    move |source| EnvironmentsError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{DeploymentTier, EnvironmentAction};
    use std::thread;

    fn step(name: &str) -> EnvironmentStep {
        EnvironmentStep {
            name: name.to_owned(),
            action: EnvironmentAction::Start,
            url: None,
            tier: DeploymentTier::Other,
            on_stop: None,
            auto_stop_in: Some(Duration::from_mins(1)),
            pipeline: 1,
            job: "deploy".to_owned(),
        }
    }

    #[test]
    fn concurrent_changes_are_all_kept() {
        let home = tempfile::tempdir().unwrap();
        let environments = Environments::at(home.path().join("project"));
        assert_eq!(environments.list().unwrap(), []);
        thread::scope(|scope| {
            for writer in 0..4 {
                let environments = &environments;
                scope.spawn(move || {
                    for number in 0..10 {
                        let name = format!("review/{writer}-{number}");
                        environments.record(&step(&name)).unwrap();
                    }
                });
            }
        });
        assert_eq!(environments.list().unwrap().len(), 40);
        let later = Timestamp::now() + Duration::from_secs(61);
        assert_eq!(environments.due(later).unwrap().len(), 40);
        environments.mark_stopped("review/0-0").unwrap();
        assert_eq!(environments.due(later).unwrap().len(), 39);
        let found = environments.find("review/0-0").unwrap();
        assert_eq!(environments.find(&found.slug).unwrap(), found);
        assert!(!found.is_available());
    }

    #[test]
    fn damaged_list_is_reported_and_kept() {
        let home = tempfile::tempdir().unwrap();
        let environments = Environments::at(home.path());
        fs::write(environments.file(), "[{").unwrap();
        let error = environments.record(&step("a")).unwrap_err();
        assert!(
            matches!(error, EnvironmentsError::Damaged { .. }),
            "{error}"
        );
        assert!(error.help().is_some());
        assert_eq!(fs::read(environments.file()).unwrap(), b"[{");
    }
}
