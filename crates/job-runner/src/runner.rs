use crate::build::Build;
use crate::log::{JobLog, LogSettings};
use crate::options::BuildRunnerOptions;
use crate::resume::{JobNote, ResumedJob};
use crate::runner_processes::RunnerProcesses;
use async_trait::async_trait;
use executor_core::{
    JobAssignment, JobId, JobOutcome, JobProducts, JobRunner, JobState, RunContext,
};
use jiff::Timestamp;
use process::Supervisor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use trace::Keep;

/// Runs jobs, each from its first stage to its last.
///
/// One runner runs any number of jobs at a time. See the [`crate`] for the order of stages.
#[derive(Debug)]
pub struct BuildRunner {
    options: BuildRunnerOptions,
    processes: Supervisor,
}

impl BuildRunner {
    /// Returns a runner whose own git commands belong to `processes`.
    pub fn new(options: BuildRunnerOptions, processes: Supervisor) -> Self {
        Self { options, processes }
    }

    /// Returns the file with the complete log of an attempt of a job; `None` when no log is kept.
    pub fn spool_path(&self, job: JobId, attempt: u32) -> Option<PathBuf> {
        let directory = self.options.spool_dir.as_ref()?;
        Some(spool_file(directory, job, attempt))
    }
}

/// Returns the file in a spool directory for the complete log of an attempt of a job.
pub fn spool_file(directory: &Path, job: JobId, attempt: u32) -> PathBuf {
    directory.join(format!("job-{job}-{attempt}.log"))
}

#[async_trait]
impl JobRunner for BuildRunner {
    async fn run(&self, assignment: JobAssignment, mut context: RunContext) -> JobOutcome {
        let now = Instant::now();
        let JobAssignment {
            job,
            attempt,
            observer,
            cancellation,
        } = assignment;
        let mut notes = self.options.resumed.iter();
        // A job that had ended does not run again, even if its attempts are counted anew.
        let is_current = |it: &JobNote| {
            it.attempt == attempt || (it.final_state().is_some() && it.attempt > attempt)
        };
        let note = notes.find(|it| it.job == job.id && is_current(it));
        let started = note.and_then(|it| now.checked_sub(it.time_since_start()));
        let started_at = note.and_then(|it| it.started_at);
        let active = context.active.enter(job.id, &context.config);
        observer.started();
        let spool = self.spool_path(job.id, attempt);
        let settings = LogSettings {
            spool: spool.as_deref(),
            earlier: note,
            keep: if self.options.limits_kept_log {
                Keep::View
            } else {
                Keep::Everything
            },
            timestamps: self.options.timestamps,
            sections: self.options.sections && job.features.trace_sections,
        };
        let log = match JobLog::open(&job, &context.config, &settings, Arc::clone(&observer)) {
            Ok(log) => Arc::new(log),
            Err(error) => return JobOutcome::from_error(error),
        };
        active.set_state(JobState::Running);
        let resumed = note.map(|note| ResumedJob::new(note.clone(), &mut context));
        let mut build = Build {
            options: &self.options,
            processes: Arc::new(RunnerProcesses::new(self.processes.clone())),
            job,
            attempt,
            context,
            cancellation,
            observer,
            log,
            active,
            started: started.unwrap_or(now),
            started_at: started_at.unwrap_or_else(Timestamp::now),
            visited: Duration::ZERO,
            reports: Vec::new(),
            early: None,
            attachment: None,
            staging: None,
            exchange: None,
            shown_inputs: Vec::new(),
            products: JobProducts::default(),
            resumed,
            note_writer: None,
        };
        build.note_writer = build.note_writer();
        build.run().await
    }
}
