use super::note::JobNote;
use super::note_writer::NoteWriter;
use crate::build::{Build, Settings};
use crate::prepare::Prepared;
use crate::sources::Sources;
use executor_core::ability::ResumeHandle;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, RunContext, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job of an earlier process.
#[derive(Debug)]
pub(crate) struct ResumedJob {
    pub(crate) note: JobNote,
    /// The context in which the job would start over.
    fresh_context: RunContext,
}

impl ResumedJob {
    /// Changes `context` into the one in which the job was started.
    pub(crate) fn new(note: JobNote, context: &mut RunContext) -> Self {
        let fresh_context = context.clone();
        context.slot = note.slot.into();
        context.data.push(note.handle.clone());
        let config = Arc::make_mut(&mut context.config);
        config.host_builds_dir.clone_from(&note.builds);
        Self {
            note,
            fresh_context,
        }
    }
}

impl Build<'_> {
    /// Returns the writer of the job's note, when notes are kept and another process could resume the job.
    pub(crate) fn note_writer(&self) -> Option<NoteWriter> {
        let notes = self.options.notes.clone()?;
        let log = self.options.spool_dir.as_deref()?;
        match self.options.sources {
            Sources::Snapshot(_) | Sources::InPlace(_) | Sources::None => {}
            // The user's repository refers to the worktree.
            Sources::Worktree(_) | Sources::Git(_) => return None,
        }
        let resumed = self.resumed.as_ref();
        let builds = self.context.config.host_builds_dir.clone();
        let own = builds.clone().filter(|_| resumed.is_none());
        let note = JobNote {
            job: self.job.id,
            attempt: self.attempt,
            handle: ResumeHandle::default(),
            log: crate::runner::spool_file(log, self.job.id, self.attempt),
            log_bytes: 0,
            open: Vec::new(),
            headed: resumed.map_or_else(Vec::new, |it| it.note.headed.clone()),
            slot: self.context.slot.into(),
            builds,
        };
        let supervisor = self.processes.supervisor().clone();
        let log = Arc::clone(&self.log);
        Some(NoteWriter::new(
            notes,
            supervisor,
            log,
            note,
            own.map(PathBuf::from),
        ))
    }

    /// Returns whether this attempt resumes one of an earlier process.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    /// Attaches to the environment that an earlier process left; `None` when that fails and the job starts
    /// over.
    ///
    /// # Errors
    ///
    /// When the job is stopped.
    pub(crate) async fn resume(
        &mut self,
        settings: &Settings,
    ) -> Option<Result<Prepared, BuildError>> {
        self.resumed.as_ref()?;
        let why = match self.reattach(settings).await {
            Ok(mut prepared) => {
                if has_files(&prepared.environment.workspace) {
                    return Some(Ok(prepared));
                }
                self.cleanup(&mut *prepared.executor).await;
                "its files are gone".to_owned()
            }
            Err(error) if self.cancellation.is_canceled() => return Some(Err(error)),
            Err(error) => error.chain(),
        };
        self.log
            .warning_line(&format!("the job cannot be resumed and starts over: {why}"));
        if let Some(note_writer) = self.note_writer.take() {
            note_writer.end();
        }
        if let Some(resumed) = self.resumed.take() {
            self.context = resumed.fresh_context;
        }
        self.note_writer = self.note_writer();
        None
    }
}

/// Returns whether the job's directory exists, or cannot be checked from this host.
fn has_files(workspace: &Workspace) -> bool {
    let dirs = workspace.host_dirs();
    dirs.is_none_or(|dirs| Path::new(&dirs.project_dir).is_dir())
}
