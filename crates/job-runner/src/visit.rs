use crate::stages::Stages;
use crate::terminals::{JobTerminal, Listed};
use crate::visitor::{FailedScript, Visit, VisitPoint};
use executor_core::job::{Job, Step};
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, JobTrace};
use std::sync::Arc;
use tokio::time::Instant;

impl Stages<'_, '_> {
    /// Lists the job among those in which shells can be opened, until the guard is dropped.
    pub(crate) fn list_terminal(&mut self) -> Option<Listed> {
        let terminal = self.terminal()?;
        let terminals = &self.build.options.terminals;
        Some(terminals.enter(self.build.job.id, terminal))
    }

    /// Lets the visitor in, in place of the scripts; `None` when nobody wants to.
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

    /// Lets the visitor in after a script that failed, which stays the job's end.
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

    async fn visit(&mut self, point: VisitPoint) -> Option<Result<(), BuildError>> {
        let visitor = Arc::clone(self.build.options.visitor.as_ref()?);
        let (job, attempt) = (Arc::clone(&self.build.job), self.build.attempt);
        let cancellation = self.build.cancellation.clone();
        if cancellation.is_canceled() || !visitor.enters(&job, attempt, &point) {
            return None;
        }
        let Some(terminal) = self.terminal() else {
            let error = BuildError::config("the executor opens no terminals, so nobody can enter");
            return Some(Err(error));
        };
        let visit = Visit {
            job,
            attempt,
            point,
            terminal,
            log: Arc::clone(&self.build.log) as Arc<dyn JobTrace>,
        };
        let entered = Instant::now();
        let visited = visitor.visit(visit, &cancellation).await;
        let stay = entered.elapsed();
        self.build.visited += stay;
        self.settings.deadlines.stand_still(stay);
        Some(visited)
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
