use super::control::RunControl;
use super::error::RunsError;
use super::journal::Journal;
use super::record::RunRecord;
use super::run_history::{JobHistory, RunHistory};
use super::run_lock::RunLock;
use super::run_state::RunState;
use executor_core::{JobId, PipelineId};
use pipeline_insight::forecast::Course;
use scheduler::{JobReport, PipelineReport, RunExit, Status};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One run of a project, running or ended.
#[derive(Debug, Clone)]
pub struct Run {
    directory: PathBuf,
    record: RunRecord,
}

impl Run {
    pub(super) fn new(directory: PathBuf, record: RunRecord) -> Self {
        Self { directory, record }
    }

    /// Returns its number in its project.
    pub fn id(&self) -> u64 {
        self.record.id.0
    }

    /// Returns its record.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the client of its control socket.
    pub fn control(&self) -> RunControl {
        RunControl::at(&self.directory)
    }

    /// Reads its history.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn history(&self) -> Result<RunHistory, RunsError> {
        Ok(RunHistory::parse(
            &Journal::read(&self.directory)?,
            self.id(),
        ))
    }

    /// Returns the error for damaged lines of its journal, if this history lacks some.
    pub fn damage(&self, history: &RunHistory) -> Option<RunsError> {
        (history.damaged > 0).then(|| RunsError::DamagedJournal {
            path: Journal::path(&self.directory),
            lines: history.damaged,
        })
    }

    /// Reads when its jobs started and ended.
    ///
    /// # Errors
    ///
    /// When the journal cannot be read.
    pub fn course(&self) -> Result<Course, RunsError> {
        let text = Journal::read(&self.directory)?;
        let mut course = Course::default();
        for line in text.split(|&byte| byte == b'\n') {
            // Other lines, and an incomplete last one, are not events.
            if let Ok(event) = serde_json::from_slice(line) {
                course.note(&event);
            }
        }
        Ok(course)
    }

    /// Returns its state, by its lock and this history.
    pub fn state(&self, history: &RunHistory) -> RunState {
        RunState::decide(RunLock::holder(&self.directory), history)
    }

    /// Returns its report, as far as it has run.
    pub fn report(&self, history: &RunHistory) -> PipelineReport {
        let report = |job: &JobHistory| JobReport {
            name: job.name.clone(),
            stage: job.stage.clone(),
            status: job.status,
            exit_code: job.exit_code,
            failure_reason: job.failure_reason,
            error: None,
            allow_failure: job.allow_failure,
            attempts: job.attempts,
            duration: job.duration,
            last_lines: Vec::new(),
            products: Arc::new(job.products()),
            exposed_as: None,
            reused: job.reused,
        };
        let end = history.end.as_ref();
        PipelineReport {
            id: PipelineId(self.id()),
            status: end.map_or(Status::Running, |end| end.status),
            exit: end.map_or(RunExit::Environment, |end| RunExit::of_code(end.exit_code)),
            jobs: history.planned().map(report).collect(),
            duration: end.map_or(history.planned().map(|job| job.duration).sum(), |end| {
                end.duration
            }),
            error: None,
            children: Vec::new(),
            times: None,
        }
    }

    /// Returns the existing logs of a job, the oldest first.
    pub fn logs(&self, job: &JobHistory) -> Vec<PathBuf> {
        let first = logs_of_attempt(&self.directory, 1);
        let entries = fs::read_dir(&first).into_iter().flatten().flatten();
        let mut attempts: Vec<u32> = entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        attempts.sort_unstable();
        let later = attempts
            .into_iter()
            .map(|attempt| logs_of_attempt(&self.directory, attempt));
        let all = std::iter::once(first).chain(later);
        all.flat_map(|logs| logs_of(&logs, job.id)).collect()
    }
}

/// Returns the logs of a job in a directory, by attempt.
fn logs_of(directory: &Path, job: JobId) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let attempt = |path: &PathBuf| -> Option<u32> {
        let name = path.file_name()?.to_str()?;
        let number = name.strip_prefix(&format!("job-{job}-"))?;
        number.strip_suffix(".log")?.parse().ok()
    };
    let paths = entries.map(|entry| entry.path());
    let mut logs: Vec<(u32, PathBuf)> = paths
        .filter_map(|path| Some((attempt(&path)?, path)))
        .collect();
    logs.sort_unstable();
    logs.into_iter().map(|(_, path)| path).collect()
}

/// Returns the directory with the logs of one attempt of a run, from 1.
pub(crate) fn logs_of_attempt(directory: &Path, attempt: u32) -> PathBuf {
    let logs = directory.join("logs");
    if attempt > 1 {
        logs.join(attempt.to_string())
    } else {
        logs
    }
}
