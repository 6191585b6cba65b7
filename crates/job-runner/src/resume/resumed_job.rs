use super::note::JobNote;
use super::note_writer::NoteWriter;
use crate::build::{Build, Settings};
use crate::prepare::Prepared;
use crate::sources::{LocalRepositories, Sources};
use executor_core::ability::ResumeHandle;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, ExitCode, JobOutcome, Retryability, RunContext, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job of an earlier process.
#[derive(Debug)]
pub(crate) struct ResumedJob {
    pub(crate) note: JobNote,
    /// The context in which the job would start over.
    pub(crate) fresh_context: RunContext,
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
    /// Returns the writer of the job's note, when notes are kept.
    pub(crate) fn note_writer(&self) -> Option<NoteWriter> {
        let notes = self.options.notes.clone()?;
        let log = self.options.spool_dir.as_deref()?;
        let is_resumable = match self.options.sources {
            Sources::Snapshot(_)
            | Sources::InPlace(_)
            | Sources::None
            | Sources::Git(LocalRepositories::Refused) => notes.keep_jobs(),
            // The user's repository refers to the worktree.
            Sources::Worktree(_) | Sources::Git(LocalRepositories::Allowed) => false,
        };
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
            script_exit: resumed.and_then(|it| it.note.script_exit),
            outcome: None,
            started_at: Some(self.started_at),
            counts_from_start: false,
        };
        let supervisor = self.processes.supervisor().clone();
        let log = Arc::clone(&self.log);
        Some(NoteWriter::new(
            notes,
            supervisor,
            log,
            note,
            own.map(PathBuf::from),
            is_resumable,
        ))
    }

    /// Returns whether this attempt resumes one of an earlier process.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resumed.is_some()
    }

    /// Returns the outcome of a job that had ended in an earlier process: only its clean-up was left, which
    /// the owner of the environment does.
    pub(crate) fn recorded_outcome(&mut self) -> Option<JobOutcome> {
        let recorded = self.resumed.as_ref()?.note.outcome.clone()?;
        let result = recorded.result();
        let end = match &result {
            Ok(()) => "succeeded".to_owned(),
            Err(error) => match error.exit_code() {
                Some(code) => format!("failed with exit code {code}"),
                None => format!("failed ({})", error.failure_reason()),
            },
        };
        self.log.system_line(&format!(
            "The job had {end} when runwright was killed: it keeps this result and does not \
             run again"
        ));
        self.products = recorded.products;
        Some(self.outcome(result))
    }

    /// Attaches to the environment that an earlier process left; `None` when that fails and the job starts
    /// over. A job whose script has ended never starts over: what the script did outside would happen twice.
    ///
    /// # Errors
    ///
    /// When the job is stopped, or can neither continue nor start over.
    pub(crate) async fn resume(
        &mut self,
        settings: &Settings,
    ) -> Option<Result<Prepared, BuildError>> {
        let note = &self.resumed.as_ref()?.note;
        let script_exit = note.script_exit;
        let why = if note.handle == ResumeHandle::default() {
            "its environment is gone".to_owned()
        } else {
            match self.reattach(settings).await {
                Ok(mut prepared) => {
                    if has_files(&prepared.environment.workspace) {
                        self.log_ended_script(script_exit);
                        return Some(Ok(prepared));
                    }
                    self.cleanup(&mut *prepared.executor).await;
                    "its files are gone".to_owned()
                }
                Err(error) if self.cancellation.is_canceled() => return Some(Err(error)),
                Err(error) => error.chain(),
            }
        };
        let lost = match script_exit {
            Some(code) => Some(format!(
                "the script had ended with exit code {code} when runwright was killed; it does \
                 not run again, and the job cannot continue after it: {why}"
            )),
            None if self.options.starts_over => None,
            None => Some(format!(
                "runwright was killed, and the job cannot continue: {why}"
            )),
        };
        if let Some(message) = lost {
            return Some(Err(BuildError::System {
                backend: "runner",
                message,
                source: None,
                retry: Retryability::Permanent,
            }));
        }
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

    fn log_ended_script(&self, exit: Option<ExitCode>) {
        if let Some(code) = exit {
            self.log.system_line(&format!(
                "The script had ended with exit code {code} when runwright was killed: it does \
                 not run again, and the job continues after it"
            ));
        }
    }
}

/// Returns whether the job's directory exists, or cannot be checked from this host.
fn has_files(workspace: &Workspace) -> bool {
    let dirs = workspace.host_dirs();
    dirs.is_none_or(|dirs| Path::new(&dirs.project_dir).is_dir())
}
