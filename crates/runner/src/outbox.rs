//! The jobs on disk: what must reach the server, whatever happens to this process.

use executor_core::FailureReason;
use executor_core::job::{Job, SecretString};
use gitlab_api::runner::{RunnerInfo, UpdateState};
use jiff::Timestamp;
use job_runner::{JobNote, JobNotes};
use process::{FileLock, LockKind, NewFile};
use serde::{Deserialize, Serialize};
use serde_json::{from_slice, to_vec};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const JOB: &str = "job.json";
const END: &str = "end.json";

/// The attempt in the name of a log: GitLab's retries are jobs of their own.
pub(crate) const ATTEMPT: u32 = 1;

/// A directory with the jobs of this process, and with those of earlier ones that the server does not know the end of.
#[derive(Debug)]
pub struct Outbox {
    directory: PathBuf,
    /// Held as long as this process uses the directory.
    _lock: FileLock,
}

/// The error of an outbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutboxError {
    /// Another process uses the directory.
    #[error("another runner uses {}", .0.display())]
    InUse(PathBuf),
    /// A file cannot be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OutboxError {
    fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

/// What is known of an accepted job (`job.json`). It has no variables of the job; while another process could take the job
/// over, they are [beside it](JobNotes::of_job).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// The server, as the settings name it.
    pub server: String,
    /// The name of the runner.
    pub runner: String,
    /// The job's id.
    pub job: u64,
    /// Its token.
    pub token: SecretString,
    /// The runner as it described itself.
    pub info: RunnerInfo,
    /// The failure reasons that the server knows.
    pub failure_reasons: Vec<String>,
    /// When the job was accepted.
    pub accepted_at: Timestamp,
    /// Whether its shells print their commands (`CI_DEBUG_TRACE`).
    #[serde(default)]
    pub debug_trace: bool,
}

/// The end of a job (`end.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// `success` or `failed`.
    pub state: UpdateState,
    /// The reason of a failure.
    pub reason: Option<FailureReason>,
    /// The exit code of a failed script.
    pub exit_code: i32,
    /// When it ended.
    #[serde(default = "Timestamp::now")]
    pub ended_at: Timestamp,
}

impl JobEnd {
    /// Returns the end of a job that failed without a script to blame.
    pub fn failed(reason: FailureReason) -> Self {
        Self {
            state: UpdateState::Failed,
            reason: Some(reason),
            exit_code: 0,
            ended_at: Timestamp::now(),
        }
    }
}

impl Outbox {
    /// Opens the directory, which is created if it does not exist, for this process alone.
    ///
    /// # Errors
    ///
    /// When another process uses it, or it cannot be created.
    pub fn open(directory: &Path) -> Result<Self, OutboxError> {
        process::make_private_dir_all(directory)
            .map_err(OutboxError::file("create the directory", directory))?;
        let file = directory.join("lock");
        let locked = FileLock::open_file(&file)
            .and_then(|opened| FileLock::if_free(opened, LockKind::Exclusive));
        match locked.map_err(OutboxError::file("lock", &file))? {
            Some(lock) => Ok(Self {
                directory: directory.to_owned(),
                _lock: lock,
            }),
            None => Err(OutboxError::InUse(directory.to_owned())),
        }
    }

    /// Returns whether a process uses the directory.
    pub fn is_in_use(directory: &Path) -> bool {
        let file = directory.join("lock");
        if !file.exists() {
            return false;
        }
        let locked = FileLock::open_file(&file)
            .and_then(|opened| FileLock::if_free(opened, LockKind::Exclusive));
        matches!(locked, Ok(None))
    }

    /// Returns the number of jobs in the directory.
    pub fn count(directory: &Path) -> usize {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter(|it| it.path().is_dir()).count()
    }

    /// Records an accepted job.
    ///
    /// # Errors
    ///
    /// When the record cannot be written; nothing is left of it then.
    pub fn accept(&self, record: &JobRecord) -> Result<JobFiles, OutboxError> {
        let directory = self.free_name(record.job);
        process::make_private_dir(&directory)
            .map_err(OutboxError::file("create the directory", &directory))?;
        let files = JobFiles { directory };
        if let Err(error) = files.write_record(record) {
            let _ = files.remove();
            return Err(error);
        }
        Ok(files)
    }

    /// Returns a name that no job has: a server may hand out a job again that was not acknowledged.
    fn free_name(&self, job: u64) -> PathBuf {
        let names = (1..).map(|number| self.directory.join(format!("{job}-{number}")));
        let mut free = names.filter(|it| !it.exists());
        free.next().expect("the numbers do not end")
    }

    /// Returns the jobs that earlier processes left. What cannot be read is reported and left alone.
    pub fn left(&self) -> Vec<(JobFiles, JobRecord)> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        let directories = entries
            .flatten()
            .map(|it| it.path())
            .filter(|it| it.is_dir());
        let mut left = Vec::new();
        for directory in directories {
            let files = JobFiles { directory };
            if !files.directory.join(JOB).exists() {
                // A process ended while it began or removed it.
                let _ = files.remove();
                continue;
            }
            match files.record() {
                Ok(record) => left.push((files, record)),
                Err(error) => {
                    let path = files.directory.display();
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "The job in {path} cannot be reported."
                    );
                }
            }
        }
        left.sort_by_key(|(_, record)| record.accepted_at);
        left
    }
}

/// A job of an earlier process whose environment may still be there.
#[derive(Debug)]
pub(crate) struct LeftJob {
    pub(crate) files: JobFiles,
    pub(crate) record: JobRecord,
    pub(crate) job: Job,
    pub(crate) note: JobNote,
}

/// The files of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFiles {
    directory: PathBuf,
}

impl JobFiles {
    /// Returns the directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the file with the job's log.
    pub fn log(&self, job: u64) -> PathBuf {
        job_runner::spool_file(&self.directory, executor_core::JobId(job), ATTEMPT)
    }

    /// Returns the directory with the notes of the job, from which another process takes it over.
    pub(crate) fn notes(&self) -> PathBuf {
        self.directory.join("notes")
    }

    /// Returns the job, if it had not ended and another process may take it over.
    pub(crate) fn left_job(&self) -> Option<(Job, JobNote)> {
        JobNotes::left_job(&self.notes()).filter(|_| self.end().is_none())
    }

    fn record(&self) -> Result<JobRecord, OutboxError> {
        let path = self.directory.join(JOB);
        let text = fs::read(&path).map_err(OutboxError::file("read", &path))?;
        from_slice(&text).map_err(|error| OutboxError::file("read", &path)(error.into()))
    }

    /// Writes the record, whole or not at all.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_record(&self, record: &JobRecord) -> Result<(), OutboxError> {
        self.write(JOB, record)
    }

    /// Returns the end of the job; `None` if it has not ended, as far as is known.
    pub fn end(&self) -> Option<JobEnd> {
        from_slice(&fs::read(self.directory.join(END)).ok()?).ok()
    }

    /// Writes the end, whole or not at all.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_end(&self, end: &JobEnd) -> Result<(), OutboxError> {
        self.write(END, end)
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), OutboxError> {
        let path = self.directory.join(name);
        let text = to_vec(value).expect("it has only texts as keys");
        let write = || {
            let mut new = NewFile::write(path.with_extension("new"), &text, 0o600)?;
            // The server has it, or this disk has.
            new.file().sync_all()?;
            new.replace(&path)
        };
        write().map_err(OutboxError::file("write", &path))
    }

    /// Returns the end of a job of an earlier process: a job without one ended with that process.
    pub(crate) fn end_after_kill(&self, job: u64) -> JobEnd {
        if let Some(end) = self.end() {
            return end;
        }
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log(job));
        if let Ok(mut log) = opened {
            // The state alone has to do if the disk is full.
            let _ = writeln!(
                log,
                "\nERROR: Job failed (system failure): the runner was killed"
            );
        }
        let end = JobEnd::failed(FailureReason::RunnerSystemFailure);
        if let Err(error) = self.write_end(&end) {
            let error = &error as &dyn std::error::Error;
            tracing::error!(job, error, "The end of a job is not on disk.");
        }
        end
    }

    /// Removes what only a process that takes over the job would need, its secrets among others.
    pub(crate) fn forget_job(&self) {
        // What remains is removed with the rest.
        let _ = process::remove_tree(&self.notes());
    }

    /// Removes the files.
    ///
    /// # Errors
    ///
    /// When some of them remain.
    pub fn remove(&self) -> Result<(), OutboxError> {
        // First, so that a process that is killed meanwhile does not leave a job without an end.
        let _ = fs::remove_file(self.directory.join(JOB));
        process::remove_tree(&self.directory).map_err(OutboxError::file("remove", &self.directory))
    }
}
