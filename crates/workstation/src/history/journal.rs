//! What happens in a run, written down before anybody hears of it.

use super::continuation::ContinuationKind;
use super::error::RunsError;
use super::line::Begun;
use crate::project::file::open_file;
use executor_core::PipelineId;
use fail_point::fail_point;
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

/// Writes down what happens in a run, an event a line, and only then passes it on.
///
/// The lines of logs and the stages of jobs are left out. A line is one write without a buffer, so
/// that it is there whatever becomes of this process; it is not forced to the disk, since a machine
/// that loses its power has lost the processes of the jobs as well. On a disk that is full the run
/// goes on: what could not be written is kept and tried again with the next event.
#[derive(Debug)]
pub struct Journal {
    pipeline: PipelineId,
    written: Mutex<Written>,
    next: Arc<dyn EventSink>,
}

#[derive(Debug)]
struct Written {
    path: PathBuf,
    file: File,
    /// What is not in the file yet: nothing, as long as the disk has room.
    waiting: Vec<u8>,
    has_failed: bool,
}

impl Journal {
    /// Opens the journal in the directory of a run and writes that the run begins. Events go to `next`
    /// once they are written.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn begin(
        directory: &Path,
        plan: &Plan,
        continues: Option<&ContinuationKind>,
        next: Arc<dyn EventSink>,
    ) -> Result<Self, RunsError> {
        let path = directory.join(FILE);
        let failed = |error| RunsError::io("write", &path)(error);
        let file = open(&path).map_err(failed)?;
        let mut written = Written {
            path: path.clone(),
            file,
            waiting: Vec::new(),
            has_failed: false,
        };
        written.add(&Begun::new(plan, continues));
        fail_point!("runwright::journal::begin", written.write()).map_err(failed)?;
        Ok(Self {
            pipeline: plan.id(),
            written: Mutex::new(written),
            next,
        })
    }

    /// Writes what could not be written before: the end of the run may have made room.
    pub(crate) fn settle(&self) {
        let mut written = self.written.lock();
        // Of the failure was told when it began.
        let _ = written.write();
    }

    /// Reads the journal of a run; empty when there is none.
    pub(super) fn read(directory: &Path) -> Result<Vec<u8>, RunsError> {
        let path = directory.join(FILE);
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
            let mut file = open_file(&directory.join(FILE))?;
            let length = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok(tail)
        };
        let tail = tail().unwrap_or_default();
        let Some(lines) = tail.strip_suffix(b"\n") else {
            return false;
        };
        let last = lines.rsplit(|&byte| byte == b'\n').next();
        last.is_some_and(|line| memmem(line, br#""type":"pipeline_done""#))
    }
}

/// No line about the end of a run is longer.
const LONGEST_END: u64 = 1024;

fn memmem(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Opens the file to write behind its last whole line: of a line that a killed process did not
/// finish nothing stays.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let mut file = fail_point!("runwright::journal::open", options.open(path))?;
    let length = file.seek(SeekFrom::End(0))?;
    if length > 0 {
        let mut text = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n');
        let whole = whole.map_or(0, |end| end as u64 + 1);
        if whole < length {
            fail_point!("runwright::journal::mend", file.set_len(whole))?;
        }
    }
    Ok(file)
}

impl Written {
    /// Adds a line to what is to be written.
    fn add(&mut self, line: &impl Serialize) {
        let length = self.waiting.len();
        if serde_json::to_writer(&mut self.waiting, line).is_ok() {
            self.waiting.push(b'\n');
        } else {
            self.waiting.truncate(length);
        }
    }

    /// Writes what waits; what cannot be written waits on.
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
        if is_kept(&event.kind) && event.pipeline == self.pipeline {
            let mut written = self.written.lock();
            written.add(event);
            if let Err(error) = fail_point!("runwright::journal::append", written.write())
                && !std::mem::replace(&mut written.has_failed, true)
            {
                tracing::warn!(
                    path = %written.path.display(),
                    %error,
                    "What happens in the run cannot be written down; should it be killed, jobs that \
                     have finished would run again."
                );
            }
        }
        self.next.event(event);
    }

    fn flush(&self) {
        self.next.flush();
    }
}

/// Returns whether somebody will need to know who comes after this process.
fn is_kept(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::JobLog { .. } | EventKind::JobStage { .. } | EventKind::StageStart { .. }
    )
}
