//! What a driver remembers about a job between its stages: one file for each job.

use crate::failure::Failure;
use crate::lock::FileLock;
use crate::stop::Stage;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The state of a job, as a driver stores it.
pub trait State: Serialize + DeserializeOwned {
    /// Raised whenever an older driver would misread the state.
    const VERSION: u32;
}

/// A directory with the states of jobs.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Stored<S> {
    version: u32,
    state: S,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Why a state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read or written.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The file does not hold a state.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// A newer driver has written the file.
    #[error("{} has version {found}, this driver reads {known}: a newer driver has written it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version of this driver.
        known: u32,
    },
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::system(error)
    }
}

impl Store {
    /// Opens a directory, which is created for its owner alone.
    ///
    /// # Errors
    ///
    /// When it cannot be created.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let directory = directory.into();
        let created = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory);
        match created {
            Ok(()) => Ok(Self { directory }),
            Err(source) => Err(StoreError::Io {
                action: "create",
                path: directory,
                source,
            }),
        }
    }

    /// Returns the path of a file beside the states, as for another lock. `name` must not end with `.json` or `.lock`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Takes the state of a job, which no other process has until the record is dropped.
    ///
    /// # Errors
    ///
    /// When it is not free in time, or the stage is stopped.
    pub fn lock(&self, name: &str, limit: Duration, stage: &Stage<'_>) -> Result<Record, Failure> {
        let waiting = format!("wait for the state of {name}");
        let lock = FileLock::acquire(&self.lock_path(name), &waiting, limit, stage)?;
        Ok(self.record(name, lock))
    }

    /// Takes the state of a job; `None` while another process has it.
    ///
    /// # Errors
    ///
    /// When the lock cannot be opened.
    pub fn try_lock(&self, name: &str) -> Result<Option<Record>, Failure> {
        let lock = FileLock::try_acquire(&self.lock_path(name))?;
        Ok(lock.map(|lock| self.record(name, lock)))
    }

    /// Returns the names of the jobs that have a state or a lock, sorted.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let failed = |source| StoreError::Io {
            action: "read",
            path: self.directory.clone(),
            source,
        };
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_str().and_then(|name| name.rsplit_once('.'));
            if let Some((name, "json" | "lock")) = name {
                names.insert(name.to_owned());
            }
        }
        Ok(names.into_iter().collect())
    }

    fn record(&self, name: &str, lock: FileLock) -> Record {
        let path = self.directory.join(format!("{name}.json"));
        Record { lock, path }
    }

    fn lock_path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.lock"))
    }
}

/// The state of one job, held by this process.
#[derive(Debug)]
pub struct Record {
    lock: FileLock,
    path: PathBuf,
}

impl Record {
    /// Returns the state; `None` without one.
    ///
    /// # Errors
    ///
    /// When it is damaged or of a newer driver.
    pub fn load<S: State>(&self) -> Result<Option<S>, StoreError> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let damaged = |error: serde_json::Error| StoreError::Damaged {
            path: self.path.clone(),
            reason: error.to_string(),
        };
        let Version { version } = serde_json::from_slice(&text).map_err(damaged)?;
        if version > S::VERSION {
            return Err(StoreError::Newer {
                path: self.path.clone(),
                found: version,
                known: S::VERSION,
            });
        }
        let stored: Stored<S> = serde_json::from_slice(&text).map_err(damaged)?;
        Ok(Some(stored.state))
    }

    /// Stores the state, readable by its owner alone. After a crash, the file has the old state or the new one.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn save<S: State>(&self, state: &S) -> Result<(), StoreError> {
        let version = S::VERSION;
        let partial = self.partial();
        let write = || {
            let mut options = File::options();
            let options = options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&partial)?;
            serde_json::to_writer(&mut file, &Stored { version, state })?;
            file.sync_all()?;
            fs::rename(&partial, &self.path)?;
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()
        };
        write().map_err(self.failed("write"))
    }

    /// Returns how long ago the state was stored or, without one, the job was first locked; `None` if that is not known.
    pub fn age(&self) -> Option<Duration> {
        let modified = fs::metadata(&self.path).and_then(|it| it.modified());
        modified.map_or_else(
            |_| self.lock.age(),
            |modified| SystemTime::now().duration_since(modified).ok(),
        )
    }

    /// Removes the state and its lock.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub fn remove(self) -> Result<(), Failure> {
        for path in [&self.path, &self.partial()] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(self.failed("remove")(error).into());
                }
                _ => {}
            }
        }
        self.lock.remove()
    }

    /// The file that is renamed when it is complete. Only this process writes it; one that was killed may have left it.
    fn partial(&self) -> PathBuf {
        self.path.with_extension("json.new")
    }

    fn failed(&self, action: &'static str) -> impl Fn(std::io::Error) -> StoreError {
        let path = self.path.clone();
        move |source| StoreError::Io {
            action,
            path: path.clone(),
            source,
        }
    }
}
