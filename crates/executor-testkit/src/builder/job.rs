use executor_core::job::{JobInfo, Step, StepWhen};
use executor_core::variable::JobVariable;
use executor_core::{Job, JobId, PipelineId};

/// Builds a [`Job`] of the project `group/project`, named `test`, in the stage `test`.
///
/// # Examples
///
/// ```
/// use executor_testkit::JobBuilder;
///
/// let job = JobBuilder::new(7).name("unit").script(["make", "make test"]).build();
/// assert_eq!(job.steps[0].script, ["make", "make test"]);
/// ```
#[derive(Debug, Clone)]
pub struct JobBuilder(Job);

impl JobBuilder {
    /// Starts with the job's id.
    pub fn new(id: u64) -> Self {
        Self(Job {
            id: JobId(id),
            job_info: JobInfo {
                name: "test".to_owned(),
                stage: "test".to_owned(),
                pipeline_id: PipelineId(1),
                project_id: 1,
                project_name: "project".to_owned(),
                project_full_path: "group/project".to_owned(),
                ..JobInfo::default()
            },
            ..Job::default()
        })
    }

    /// Sets its name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.job_info.name = name.into();
        self
    }

    /// Adds the user's script.
    pub fn script<L: Into<String>>(self, lines: impl IntoIterator<Item = L>) -> Self {
        self.step(step(Step::SCRIPT, StepWhen::OnSuccess, lines))
    }

    /// Adds the user's `after_script`.
    pub fn after_script<L: Into<String>>(self, lines: impl IntoIterator<Item = L>) -> Self {
        self.step(Step {
            allow_failure: true,
            ..step(Step::AFTER_SCRIPT, StepWhen::Always, lines)
        })
    }

    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.0.steps.push(step);
        self
    }

    /// Adds a variable.
    pub fn variable(mut self, variable: JobVariable) -> Self {
        self.0.variables.push(variable);
        self
    }

    /// Sets its timeout in seconds.
    pub fn timeout(mut self, seconds: u64) -> Self {
        self.0.runner_info.timeout = seconds;
        self
    }

    /// Changes fields without a method of their own.
    pub fn with(mut self, change: impl FnOnce(&mut Job)) -> Self {
        change(&mut self.0);
        self
    }

    /// Returns the job.
    pub fn build(self) -> Job {
        self.0
    }
}

fn step<L: Into<String>>(name: &str, when: StepWhen, lines: impl IntoIterator<Item = L>) -> Step {
    Step {
        name: name.to_owned(),
        script: lines.into_iter().map(Into::into).collect(),
        when,
        ..Step::default()
    }
}
