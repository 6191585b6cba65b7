use super::note::JobNote;
use super::noting::Noting;
use crate::build::{Build, Settings};
use crate::prepare::Prepared;
use crate::sources::Sources;
use executor_core::ability::ResumeHandle;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, RunContext, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is needed to go on with a job.
#[derive(Debug)]
pub(crate) struct ResumedJob {
    pub(crate) note: JobNote,
    /// In what the job would begin anew.
    anew: RunContext,
}

impl ResumedJob {
    /// Changes `context` into the one that the job was begun in.
    pub(crate) fn new(note: JobNote, context: &mut RunContext) -> Self {
        let anew = context.clone();
        context.slot = note.slot.into();
        context.data.push(note.handle.clone());
        let config = Arc::make_mut(&mut context.config);
        config.host_builds_dir.clone_from(&note.builds);
        Self { note, anew }
    }
}

impl Build<'_> {
    /// Returns what notes the job, where that is wanted and another process could go on with it.
    pub(crate) fn noting(&self) -> Option<Noting> {
        let notes = self.options.notes.clone()?;
        let log = self.options.spool_dir.as_deref()?;
        match self.options.sources {
            Sources::Snapshot(_) | Sources::InPlace(_) | Sources::None => {}
            // The repository of the user has a note of the tree.
            Sources::Worktree(_) | Sources::Git(_) => return None,
        }
        let going_on = self.going_on.as_ref();
        let builds = self.context.config.host_builds_dir.clone();
        let own = builds.clone().filter(|_| going_on.is_none());
        let note = JobNote {
            job: self.job.id,
            attempt: self.attempt,
            handle: ResumeHandle::default(),
            log: crate::runner::spool_file(log, self.job.id, self.attempt),
            log_bytes: 0,
            open: Vec::new(),
            headed: going_on.map_or_else(Vec::new, |it| it.note.headed.clone()),
            slot: self.context.slot.into(),
            builds,
        };
        let supervisor = self.tools.supervisor().clone();
        let log = Arc::clone(&self.log);
        Some(Noting::new(
            notes,
            supervisor,
            log,
            note,
            own.map(PathBuf::from),
        ))
    }

    /// Returns whether the stages of an earlier process are gone on with.
    pub(crate) fn goes_on(&self) -> bool {
        self.going_on.is_some()
    }

    /// Attaches to the environment that an earlier process left; `None` when there is none, or nobody can:
    /// then the job begins anew.
    ///
    /// # Errors
    ///
    /// When the job is stopped.
    pub(crate) async fn go_on(
        &mut self,
        settings: &Settings,
    ) -> Option<Result<Prepared, BuildError>> {
        self.going_on.as_ref()?;
        let why = match self.prepare_again(settings).await {
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
        self.log.warning_line(&format!(
            "the job cannot be gone on with, and begins anew: {why}"
        ));
        if let Some(noting) = self.noting.take() {
            noting.end();
        }
        if let Some(going_on) = self.going_on.take() {
            self.context = going_on.anew;
        }
        self.noting = self.noting();
        None
    }
}

/// Returns whether the job's directory is there, as far as that can be seen from here.
fn has_files(workspace: &Workspace) -> bool {
    let dirs = workspace.host_dirs();
    dirs.is_none_or(|dirs| Path::new(&dirs.project_dir).is_dir())
}
