use super::note::JobNote;
use super::notes::JobNotes;
use crate::log::JobLog;
use executor_core::ability::{ResumeHandle, ResumeObserver};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildStage, JobId};
use parking_lot::{Mutex, MutexGuard};
use process::Supervisor;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a note of output is good enough: what was told since is asked for once more.
const GOOD_FOR: Duration = Duration::from_millis(100);

/// Notes how far one attempt of a job has come. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Noting(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    notes: JobNotes,
    supervisor: Supervisor,
    log: Arc<JobLog>,
    job: JobId,
    /// The directory with the builds, when this job has to see to it that it is left after a crash.
    builds: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The next one to be written; without a handle as long as the executor told none.
    note: JobNote,
    stage: Stage,
    has_handle: bool,
    /// Whether the next handle is written down whatever the time is.
    is_urgent: bool,
    written: Option<Instant>,
}

/// How far noting has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The job has not all its files yet: it would be begun anew.
    Before,
    /// Its scripts run, or what follows them.
    Going,
    /// It has ended, or it cannot be noted.
    Over,
}

impl Noting {
    /// Returns what notes a job, beginning with `note`, whose handle is yet to come.
    pub(crate) fn new(
        notes: JobNotes,
        supervisor: Supervisor,
        log: Arc<JobLog>,
        note: JobNote,
        builds: Option<PathBuf>,
    ) -> Self {
        Self(Arc::new(Shared {
            notes,
            supervisor,
            log,
            job: note.job,
            builds,
            state: Mutex::new(State {
                note,
                stage: Stage::Before,
                has_handle: false,
                is_urgent: false,
                written: None,
            }),
        }))
    }

    /// Returns what an executor tells of its handle.
    pub(crate) fn observer(&self) -> ResumeObserver {
        let noting = self.clone();
        ResumeObserver::new(move |handle| noting.observe(handle))
    }

    /// Notes from here on: whoever goes on skips what was done before.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        if state.stage == Stage::Before {
            state.stage = Stage::Going;
        }
    }

    /// Takes note of a heading in the log.
    pub(crate) fn headed(&self, stage: &BuildStage) {
        let name = stage.name().into_owned();
        let mut known = self.state();
        if !known.note.headed.contains(&name) {
            known.note.headed.push(name);
        }
    }

    /// A request is about to be made, which must not be made twice: it is noted before.
    pub(crate) fn urgent(&self) {
        self.state().is_urgent = true;
    }

    /// A request has ended: that is noted whatever the time is.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        if state.has_handle {
            self.write(&mut state, true);
        }
    }

    /// Forgets the job, before its environment goes.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        let was_written = state.written.take().is_some();
        state.stage = Stage::Over;
        drop(state);
        if let Err(error) = self.0.notes.forget(self.0.job) {
            tracing::warn!(job = %self.0.job, %error, "What is noted of the job stays.");
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
        let is_due = state.written.is_none_or(|at| at.elapsed() >= GOOD_FOR);
        if is_urgent || is_due {
            self.write(&mut state, is_urgent);
        }
    }

    fn write(&self, state: &mut State, is_urgent: bool) {
        if state.stage != Stage::Going {
            return;
        }
        if is_urgent {
            self.0.log.end_stage();
        }
        // The older note goes with the older end of the log.
        let Some(end) = self.0.log.settled() else {
            return;
        };
        state.note.log_bytes = end.bytes;
        state.note.open = end.open.into_iter().map(Into::into).collect();
        if state.written.is_none()
            && let Err(error) = self.need()
        {
            return self.give_up(state, &error);
        }
        let written = self.0.notes.write(&state.note);
        state.written = Some(Instant::now());
        if let Err(error) = written {
            self.give_up(state, &error);
            self.release();
        }
    }

    /// Notes nothing any more.
    fn give_up(&self, state: &mut State, error: &io::Error) {
        state.stage = Stage::Over;
        state.written = None;
        // The old note is not to be gone by: what ended since is not in it.
        let _ = self.0.notes.forget(self.0.job);
        self.0.log.warning_line(&format!(
            "where the job is cannot be noted; should this process be killed, the job runs again \
             from its beginning: {error}"
        ));
    }

    fn need(&self) -> io::Result<()> {
        let (Some(builds), Some(journal)) = (&self.0.builds, self.0.supervisor.journal()) else {
            return Ok(());
        };
        let noted = self.0.notes.need(builds, || journal.record_left(builds));
        noted.map_err(io::Error::other)
    }

    fn release(&self) {
        let (Some(builds), Some(journal)) = (&self.0.builds, self.0.supervisor.journal()) else {
            return;
        };
        let released = self.0.notes.release(builds, || journal.forget_left(builds));
        if let Err(error) = released {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, builds = %builds.display(), "A directory is left after a crash.");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
