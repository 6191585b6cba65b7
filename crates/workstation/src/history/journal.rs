//! The journal of a run.

use super::continuation::ContinuationKind;
use super::error::RunsError;
use super::journal_line::Begun;
use crate::project::read_file::open_file;
use fail_point::fail_point;
use job_runner::JobNotes;
use parking_lot::Mutex;
use pipeline::Plan;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in a run's directory.
const FILE: &str = "journal.jsonl";

/// Writes the events of a run to its journal, a line each, before it passes them on. Once it has the end of a job,
/// the job's note is removed.
///
/// Lines of logs and stages of jobs are left out. Each line is one unbuffered write, so that it survives this
/// process. It is not synced to the disk, since a machine that loses power loses the jobs' processes too. On a full
/// disk the run continues: unwritten lines are tried again with the next event.
#[derive(Debug)]
pub struct Journal {
    plan: Arc<Plan>,
    notes: JobNotes,
    written: Mutex<Written>,
    next: Arc<dyn EventSink>,
}

#[derive(Debug)]
struct Written {
    path: PathBuf,
    file: File,
    /// Lines that could not be written yet.
    waiting: Vec<u8>,
    has_failed: bool,
}

impl Journal {
    /// Opens the journal in the directory of a run and records that the run starts. Events are passed to `next`
    /// once they are written.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn begin(
        directory: &Path,
        plan: Arc<Plan>,
        continues: Option<&ContinuationKind>,
        notes: JobNotes,
        next: Arc<dyn EventSink>,
    ) -> Result<Self, RunsError> {
        let path = Self::path(directory);
        let failed = |error| RunsError::io("write", &path)(error);
        let file = open(&path).map_err(failed)?;
        let mut written = Written {
            path: path.clone(),
            file,
            waiting: Vec::new(),
            has_failed: false,
        };
        written.add(&Begun::new(&plan, continues));
        fail_point!("workstation::journal::begin", written.write()).map_err(failed)?;
        Ok(Self {
            plan,
            notes,
            written: Mutex::new(written),
            next,
        })
    }

    /// Removes the note of a job, if the event is its end.
    fn forget_note(&self, kind: &EventKind) {
        if let EventKind::JobFinished { job, .. } = kind
            && let Some(at) = self.plan.position(job)
            && let Err(error) = self.notes.remove(self.plan.jobs()[at].id)
        {
            // A later run sees in the journal that the job has finished.
            tracing::debug!(%job, %error, "The note of a finished job is not removed.");
        }
    }

    /// Writes the lines that could not be written before: the end of the run may have freed space.
    pub(crate) fn settle(&self) {
        let mut written = self.written.lock();
        // The first failure was reported.
        let _ = written.write();
    }

    /// Returns the file in the directory of a run.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// Reads the journal of a run; empty without one.
    pub(super) fn read(directory: &Path) -> Result<Vec<u8>, RunsError> {
        let path = Self::path(directory);
        let read = || -> io::Result<Vec<u8>> {
            let mut text = Vec::new();
            open_file(&path)?.read_to_end(&mut text)?;
            Ok(text)
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read.map_err(RunsError::io("read", path)),
        }
    }

    /// Returns whether the last line of the journal says that the run has ended.
    pub(super) fn says_done(directory: &Path) -> bool {
        let tail = || -> io::Result<Vec<u8>> {
            let mut file = open_file(&Self::path(directory))?;
            let length = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(length.saturating_sub(MAX_LAST_LINE)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(tail)
        };
        let tail = tail().unwrap_or_default();
        let Some(lines) = tail.strip_suffix(b"\n") else {
            return false;
        };
        let last = lines.rsplit(|&byte| byte == b'\n').next();
        last.is_some_and(|line| contains(line, br#""type":"pipeline_done""#))
    }
}

/// The longest line about the end of a run.
const MAX_LAST_LINE: u64 = 1024;

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Opens the file to append to its last whole line. A line that a killed process did not finish is cut off.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let mut file = fail_point!("workstation::journal::open", options.open(path))?;
    let length = file.seek(SeekFrom::End(0))?;
    if length > 0 {
        let mut text = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        let whole = whole.map_or(0, |end| end as u64 + 1);
        if whole < length {
            fail_point!("workstation::journal::repair", file.set_len(whole))?;
        }
    }
    Ok(file)
}

impl Written {
    /// Adds a line to the unwritten ones.
    fn add(&mut self, line: &impl Serialize) {
        let length = self.waiting.len();
        if serde_json::to_writer(&mut self.waiting, line).is_ok() {
            self.waiting.push(b'\n');
        } else {
            self.waiting.truncate(length);
        }
    }

    /// Writes the unwritten lines as far as possible.
    fn write(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let write = |file: &mut File| match file.write(&self.waiting) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                written => written,
            };
            let count = match write(&mut self.file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                written => written?,
            };
            self.waiting.drain(..count);
        }
        Ok(())
    }
}

impl EventSink for Journal {
    fn event(&self, event: &PipelineEvent) {
        if is_recorded(&event.kind) && event.pipeline == self.plan.id() {
            let mut written = self.written.lock();
            written.add(event);
            match fail_point!("workstation::journal::append", written.write()) {
                Ok(()) => {
                    drop(written);
                    self.forget_note(&event.kind);
                }
                Err(error) if !std::mem::replace(&mut written.has_failed, true) => {
                    tracing::warn!(
                        path = %written.path.display(),
                        %error,
                        "The journal cannot be written: if the run is killed, finished jobs run again."
                    );
                }
                Err(_) => {}
            }
        }
        self.next.event(event);
    }

    fn flush(&self) {
        self.next.flush();
    }
}

/// Returns whether a later process needs the event.
fn is_recorded(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::JobLog { .. } | EventKind::JobStage { .. } | EventKind::StageStart { .. }
    )
}
