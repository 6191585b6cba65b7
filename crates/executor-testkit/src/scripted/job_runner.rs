use crate::builder::CommandBuilder;
use crate::recording::RecordingTrace;
use crate::scripted::Failure;
use executor_core::variable::JobVariables;
use executor_core::{
    BuildError, BuildStage, Executor, JobAssignment, JobOutcome, JobRunner, JobState,
    PrepareOptions, RunContext,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The behaviour of a [`ScriptedJobRunner`] for one job.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum JobRunnerDirective {
    /// Drives an executor: create, shell, prepare, one run for each step of the job, finish, cleanup.
    Drive,
    /// Ends the job with this error, or panics, before there is an executor.
    Fail(Failure),
}

/// A job runner for tests of its callers: a worker, a scheduler.
///
/// It follows its directives in order and drives every further job. A script is the joined lines of a
/// step, without generated parts.
#[derive(Debug, Default)]
pub struct ScriptedJobRunner {
    directives: Mutex<VecDeque<JobRunnerDirective>>,
    contexts: Mutex<Vec<RunContext>>,
}

impl ScriptedJobRunner {
    /// Returns a job runner that drives every job.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directive for the next job without one.
    pub fn then(self, directive: JobRunnerDirective) -> Self {
        self.directives.lock().push_back(directive);
        self
    }

    /// Returns the contexts of the jobs, in order.
    pub fn contexts(&self) -> Vec<RunContext> {
        self.contexts.lock().clone()
    }
}

#[async_trait::async_trait]
impl JobRunner for ScriptedJobRunner {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        self.contexts.lock().push(context.clone());
        let directive = self.directives.lock().pop_front();
        assignment.observer.started();
        match directive.unwrap_or(JobRunnerDirective::Drive) {
            JobRunnerDirective::Fail(failure) => JobOutcome::from_error(failure.raise()),
            JobRunnerDirective::Drive => match context.provider.create(&context.data) {
                Ok(executor) => drive(executor, &assignment, &context).await,
                Err(error) => JobOutcome::from_error(error),
            },
        }
    }
}

async fn drive(
    mut executor: Box<dyn Executor>,
    assignment: &JobAssignment,
    context: &RunContext,
) -> JobOutcome {
    let listed = context.active.enter(assignment.job.id, &context.config);
    listed.set_state(JobState::Running);
    listed.follow(executor.stage_cell());
    executor.shell();
    let outcome = match prepare(executor.as_mut(), assignment, context).await {
        Err(error) => JobOutcome::from_error(error),
        Ok(working_dir) => {
            let steps = run_steps(executor.as_mut(), assignment, &working_dir).await;
            let outcome = steps.map_or_else(JobOutcome::from_error, |()| JobOutcome::success());
            executor.finish(&outcome).await;
            outcome
        }
    };
    match executor.cleanup().await {
        Err(error) if outcome.error.is_none() => JobOutcome::from_error(error),
        _ => outcome,
    }
}

async fn prepare(
    executor: &mut dyn Executor,
    assignment: &JobAssignment,
    context: &RunContext,
) -> Result<String, BuildError> {
    let options = PrepareOptions {
        config: Arc::clone(&context.config),
        job: Arc::clone(&assignment.job),
        variables: Arc::new(
            assignment
                .job
                .variables
                .iter()
                .cloned()
                .collect::<JobVariables>(),
        ),
        trace: Arc::new(RecordingTrace::new()),
        slot: context.slot,
        project_dir: None,
        planned: None,
    };
    let environment = executor.prepare(options, &assignment.cancellation).await?;
    Ok(environment.workspace.dirs().project_dir.clone())
}

async fn run_steps(
    executor: &mut dyn Executor,
    assignment: &JobAssignment,
    working_dir: &str,
) -> Result<(), BuildError> {
    for step in &assignment.job.steps {
        let command = CommandBuilder::new(step.script.join("\n"))
            .stage(BuildStage::Step(step.name.clone()))
            .working_dir(working_dir)
            .build();
        let result = executor.run(command, &assignment.cancellation).await?;
        if !result.status.is_success() {
            return Err(BuildError::Script {
                exit_code: result.status.exit_code(),
            });
        }
    }
    Ok(())
}
