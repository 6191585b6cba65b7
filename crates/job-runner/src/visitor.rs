//! Entering a job in place of its scripts, after a failed one, or at its end.

use crate::limit::abort_at;
use crate::reachable_jobs::{JobAccess, JobTerminal, Listed};
use crate::stages::Stages;
use async_trait::async_trait;
use executor_core::job::{Job, Step};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, Cancellation, ExitCode, FailureReason, JobTrace};
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::time::Instant;

/// Enters jobs, in place of their scripts, after one that failed, or at their end.
///
/// Pass one to [`BuildRunnerOptions::visitor`](crate::BuildRunnerOptions::visitor). The time of a visit does
/// not count as the job's, except at the end. Other jobs continue, and several may be entered at the same time; a visitor
/// with one terminal makes them wait.
#[async_trait]
pub trait Visitor: Send + Sync + Debug {
    /// Returns whether to enter a job at this point. It must not take long.
    fn enters(&self, job: &Job, attempt: u32, point: &VisitPoint) -> bool;

    /// Returns commands that run in place of the job's scripts, without a visit; `None` makes a visit.
    ///
    /// They run as the script would.
    fn commands(&self, job: &Job) -> Option<Vec<String>>;

    /// Enters the job, and returns when the visit ends.
    ///
    /// # Errors
    ///
    /// The result of a visit in place of the scripts counts as that of the scripts: an error fails the
    /// job, [`BuildError::Script`] with an exit code. A later visit does not change the job's
    /// outcome; the error of one after a failure becomes a warning in the log.
    ///
    /// # Cancellation
    ///
    /// Ends the visit soon, with [`BuildError::Canceled`]. The future is awaited to its end.
    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError>;
}

/// The point in a job at which it is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VisitPoint {
    /// Everything is ready for the scripts, but none of them runs, and no artifacts or caches are saved.
    InPlaceOfScripts,
    /// A script has failed, and the environment is unchanged since. `after_script` and the later stages
    /// follow the visit.
    AfterFailure(FailedScript),
    /// All stages have run, and the environment ends after the visit. The visit is canceled when the job's time is up.
    AtEnd {
        /// That moment.
        deadline: Instant,
    },
}

/// The script that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedScript {
    /// The failure reason of the job.
    pub reason: FailureReason,
    /// The exit code, if the script ended by itself.
    pub exit_code: Option<ExitCode>,
    /// The error message.
    pub message: String,
}

/// A job that is entered.
#[derive(Debug)]
#[non_exhaustive]
pub struct Visit {
    /// The job.
    pub job: Arc<Job>,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The point at which it is entered.
    pub point: VisitPoint,
    /// Opens shells in it.
    pub terminal: JobTerminal,
    /// The job's log, in which secrets are masked.
    pub log: Arc<dyn JobTrace>,
}

impl Stages<'_, '_> {
    /// Lists the job among those that can be reached, until the guard is dropped.
    pub(crate) fn list_job(&self) -> Listed {
        self.build.options.reachable_jobs.enter(JobAccess {
            job: Arc::clone(&self.build.job),
            terminal: self.terminal(),
            port_proxy: self.executor.abilities().port_proxy,
        })
    }

    /// Lets the visitor in, in place of the scripts; `None` when it does not enter.
    pub(crate) async fn visit_in_place(&mut self) -> Option<Result<(), BuildError>> {
        let visitor = Arc::clone(self.build.options.visitor.as_ref()?);
        let (job, point) = (Arc::clone(&self.build.job), VisitPoint::InPlaceOfScripts);
        if visitor.enters(&job, self.build.attempt, &point)
            && let Some(commands) = visitor.commands(&job)
        {
            return Some(self.run_instead(commands).await);
        }
        self.visit(point).await
    }

    /// Lets the visitor in after a failed script, which still fails the job.
    pub(crate) async fn visit_failure(&mut self, error: &BuildError) {
        if !matches!(
            error,
            BuildError::Script { .. } | BuildError::Timeout { .. }
        ) {
            return;
        }
        let failed = FailedScript {
            reason: error.failure_reason(),
            exit_code: error.exit_code(),
            message: error.chain(),
        };
        let visit = self.visit(VisitPoint::AfterFailure(failed)).await;
        match visit {
            None | Some(Ok(()) | Err(BuildError::Canceled(_))) => {}
            Some(Err(error)) => {
                let text = format!("the job could not be entered: {}", error.chain());
                self.build.log.warning_line(&text);
            }
        }
    }

    /// Lets the visitor in at the end of a job with this outcome.
    pub(crate) async fn visit_end(&mut self, outcome: &Result<(), BuildError>) {
        let deadline = self.settings.deadlines.end();
        let point = VisitPoint::AtEnd { deadline };
        let (job, attempt) = (Arc::clone(&self.build.job), self.build.attempt);
        let own = self.build.cancellation.child();
        let is_over = own.is_canceled() || matches!(outcome, Err(BuildError::Timeout { .. }));
        let visitor = self.build.options.visitor.clone();
        let Some(visitor) = visitor.filter(|it| !is_over && it.enters(&job, attempt, &point))
        else {
            return;
        };
        let Some(terminal) = self.terminal() else {
            return;
        };
        let visit = self.visit_with(point, terminal);
        if let Err(error) = abort_at(visitor.visit(visit, &own), deadline, &own).await {
            tracing::debug!(job = %job.id, error = &error as &dyn Error, "A visit failed.");
        }
    }

    async fn visit(&mut self, point: VisitPoint) -> Option<Result<(), BuildError>> {
        let visitor = Arc::clone(self.build.options.visitor.as_ref()?);
        let (job, attempt) = (Arc::clone(&self.build.job), self.build.attempt);
        let cancellation = self.build.cancellation.clone();
        if cancellation.is_canceled() || !visitor.enters(&job, attempt, &point) {
            return None;
        }
        let Some(terminal) = self.terminal() else {
            let error = BuildError::config(
                "the job cannot be entered: the executor does not open terminals",
            );
            return Some(Err(error));
        };
        let visit = self.visit_with(point, terminal);
        let entered = Instant::now();
        let visited = visitor.visit(visit, &cancellation).await;
        let spent = entered.elapsed();
        self.build.visited += spent;
        self.settings.deadlines.postpone(spent);
        Some(visited)
    }

    fn visit_with(&self, point: VisitPoint, terminal: JobTerminal) -> Visit {
        Visit {
            job: Arc::clone(&self.build.job),
            attempt: self.build.attempt,
            point,
            terminal,
            log: Arc::clone(&self.build.log) as Arc<dyn JobTrace>,
        }
    }

    fn terminal(&self) -> Option<JobTerminal> {
        Some(JobTerminal {
            terminal: self.executor.abilities().terminal?,
            job: self.build.job.job_info.name.clone(),
            directory: self.environment.workspace.dirs().project_dir.clone(),
            history: history_of(&self.build.job),
            variables: Arc::clone(&self.variables),
        })
    }
}

/// Returns the commands of a job's scripts, in the order in which they run.
fn history_of(job: &Job) -> Vec<String> {
    let steps = job.steps.iter();
    let before = steps.filter(|step| step.name != Step::AFTER_SCRIPT);
    let commands = before.flat_map(|step| &step.script);
    let commands = commands.map(|command| command.trim_end().to_owned());
    commands.filter(|command| !command.is_empty()).collect()
}
