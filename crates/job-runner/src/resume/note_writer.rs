use super::note::{JobNote, RecordedOutcome};
use super::notes::JobNotes;
use crate::log::JobLog;
use executor_core::ability::{ResumeHandle, ResumeObserver};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildStage, JobId, JobOutcome, StageResult};
use parking_lot::{Mutex, MutexGuard};
use process::Supervisor;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time between two notes about output. A resumed job requests the output since its note again.
const NOTE_INTERVAL: Duration = Duration::from_millis(100);

/// Writes the note of one attempt of a job. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct NoteWriter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    notes: JobNotes,
    supervisor: Supervisor,
    log: Arc<JobLog>,
    job: JobId,
    /// The builds directory, when this job must make it survive a crash.
    builds: Option<PathBuf>,
    /// Whether another process could take over the job's environment.
    is_resumable: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The next note; its handle is empty until the executor reports one.
    note: JobNote,
    stage: Stage,
    has_handle: bool,
    /// Whether the next handle is written regardless of the interval.
    is_urgent: bool,
    written: Option<Instant>,
}

/// The state of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The job does not have all its files yet; it would start over.
    Before,
    /// Its scripts or later stages run.
    Active,
    /// The job has ended, or notes cannot be written.
    Over,
}

impl NoteWriter {
    /// Returns a writer that starts with `note`, whose handle is still empty.
    pub(crate) fn new(
        notes: JobNotes,
        supervisor: Supervisor,
        log: Arc<JobLog>,
        note: JobNote,
        builds: Option<PathBuf>,
        is_resumable: bool,
    ) -> Self {
        Self(Arc::new(Shared {
            notes,
            supervisor,
            log,
            job: note.job,
            builds,
            is_resumable,
            state: Mutex::new(State {
                note,
                stage: Stage::Before,
                has_handle: false,
                is_urgent: false,
                written: None,
            }),
        }))
    }

    /// Returns the observer to which an executor reports its handle; `None` if nothing can be resumed.
    pub(crate) fn observer(&self) -> Option<ResumeObserver> {
        let writer = self.clone();
        let observer = ResumeObserver::new(move |handle| writer.observe(handle));
        Some(observer).filter(|_| self.0.is_resumable)
    }

    /// Starts to write notes. A process that resumes the job skips the stages before this call.
    pub(crate) fn start(&self) {
        let mut state = self.state();
        if state.stage == Stage::Before {
            state.stage = Stage::Active;
        }
    }

    /// Records that the log has the heading of a stage.
    pub(crate) fn note_heading(&self, stage: &BuildStage) {
        let name = stage.name().into_owned();
        let mut known = self.state();
        if !known.note.headed.contains(&name) {
            known.note.headed.push(name);
        }
    }

    /// Makes the next handle urgent, before a request that must not be sent twice.
    pub(crate) fn expect_request(&self) {
        self.state().is_urgent = true;
    }

    /// Writes a note after a request, regardless of the interval.
    ///
    /// The environment keeps the result of the request until this returns.
    pub(crate) fn finish_request(&self, stage: &BuildStage, result: Option<&StageResult>) {
        let mut known = self.state();
        if let Some(result) = result
            && matches!(stage, BuildStage::Step(_) | BuildStage::StepRun)
        {
            known.note.script_exit = Some(result.status.exit_code());
        }
        if known.has_handle {
            self.write(&mut known, true);
        }
    }

    /// Records the result of the job, before anything of the job is removed.
    ///
    /// From then on another process only takes the result over. The note of a job that should run again is removed.
    pub(crate) fn settle(&self, outcome: &JobOutcome) {
        let log = &self.0.log;
        let mut state = self.state();
        let is_active = state.stage == Stage::Active;
        let recorded = RecordedOutcome::of(outcome, |text| log.masked(text));
        let Some(recorded) = recorded.filter(|_| is_active) else {
            drop(state);
            return self.end();
        };
        state.note.outcome = Some(recorded);
        self.note_log_end(&mut state.note);
        let written = self.0.notes.write(&state.note);
        let was_written = state.written.take().is_some();
        if let Err(error) = written {
            self.stop_notes(&mut state, &error);
        }
        state.stage = Stage::Over;
        drop(state);
        if was_written {
            self.release();
        }
    }

    /// Removes the note: another process cannot resume the job.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        let was_written = state.written.take().is_some();
        state.stage = Stage::Over;
        drop(state);
        if let Err(error) = self.0.notes.remove(self.0.job) {
            tracing::warn!(job = %self.0.job, %error, "The note of the job could not be removed.");
        }
        if was_written {
            self.release();
        }
    }

    fn observe(&self, handle: &ResumeHandle) {
        let mut state = self.state();
        state.note.handle.clone_from(handle);
        state.has_handle = true;
        let is_urgent = std::mem::take(&mut state.is_urgent);
        let is_due = state.written.is_none_or(|at| at.elapsed() >= NOTE_INTERVAL);
        if is_urgent || is_due {
            self.write(&mut state, is_urgent);
        } else if state.stage == Stage::Active && self.note_log_end(&mut state.note) {
            self.0.notes.defer(&state.note);
        }
    }

    fn write(&self, state: &mut State, is_urgent: bool) {
        if state.stage != Stage::Active {
            return;
        }
        if is_urgent {
            self.0.log.end_stage();
        }
        // The previous note still matches the previous end of the log.
        if !self.note_log_end(&mut state.note) {
            return;
        }
        if state.written.is_none()
            && let Err(error) = self.need()
        {
            return self.stop_notes(state, &error);
        }
        let written = self.0.notes.write(&state.note);
        state.written = Some(Instant::now());
        if let Err(error) = written {
            self.stop_notes(state, &error);
            self.release();
        }
    }

    /// Notes how much of the log counts; returns `false` while its end may still change.
    fn note_log_end(&self, note: &mut JobNote) -> bool {
        let Some(end) = self.0.log.settled() else {
            return false;
        };
        note.log_bytes = end.bytes;
        note.open = end.open.into_iter().map(Into::into).collect();
        true
    }

    /// Stops writing notes, and warns in the log.
    fn stop_notes(&self, state: &mut State, error: &io::Error) {
        state.stage = Stage::Over;
        state.written = None;
        // The previous note is outdated: it lacks the requests that have finished since.
        let _ = self.0.notes.remove(self.0.job);
        self.0.log.warning_line(&format!(
            "the job's progress cannot be recorded; if this process is killed, the job starts over: {error}"
        ));
    }

    fn need(&self) -> io::Result<()> {
        let (Some(builds), Some(journal)) = (&self.0.builds, self.0.supervisor.journal()) else {
            return Ok(());
        };
        let noted = self.0.notes.need(builds, || journal.record_kept(builds));
        noted.map_err(io::Error::other)
    }

    fn release(&self) {
        let (Some(builds), Some(journal)) = (&self.0.builds, self.0.supervisor.journal()) else {
            return;
        };
        let released = self.0.notes.release(builds, || journal.forget_kept(builds));
        if let Err(error) = released {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, builds = %builds.display(), "The directory will not be removed after a crash.");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
