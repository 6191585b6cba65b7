use super::run_status::RunId;
use super::step_report::StepReports;
use executor_core::{BuildStage, StageCommand, StageVariables};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A request to run steps.
#[derive(Clone)]
pub struct RunSpec {
    /// The id of the request.
    pub id: RunId,
    /// The steps.
    pub steps: RunSteps,
    /// The program and arguments before the path of the script. If empty, bash or else sh is used.
    pub shell: Vec<String>,
    /// The variables of the scripts. Their values are already expanded, and are used unchanged.
    pub variables: Arc<StageVariables>,
    /// Values that the service masks in the log.
    pub masked: Vec<String>,
    /// The directory in which scripts start.
    pub working_dir: String,
    /// The directory for file variables, `<temp_dir>/<key>`.
    pub temp_dir: String,
    /// The time limits.
    pub timing: RunTiming,
    /// Called now and then with the offset from which another client could [resume](super::StepsClient::resume).
    pub progress: Option<Progress>,
    /// Called with the results of the steps, even after a stop.
    pub reports: Option<StepReports>,
}

/// Receives the offset in the log up to which all output was passed on.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// The steps of a request.
#[derive(Clone, PartialEq, Eq)]
pub enum RunSteps {
    /// Scripts, in order until one fails. They are not evaluated, and the log has only their output.
    Scripts(Vec<ScriptStep>),
    /// Steps of the [language](crate::language) in the form of a job's `run`: JSON or YAML. The log names each
    /// step at its start.
    Language(String),
}

/// One script of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptStep {
    /// The name, which is also in its result.
    pub name: String,
    /// The text of the script.
    pub script: String,
}

/// The time limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTiming {
    /// The time from SIGTERM to SIGKILL.
    pub terminate_grace: Duration,
    /// How long a background process may keep the output open after its script ended.
    pub pipe_grace: Duration,
    /// The limit for the whole request. The service enforces it even without a client.
    pub timeout: Option<Duration>,
}

impl Default for RunTiming {
    /// The same as [`process::Timing`], without a limit.
    fn default() -> Self {
        let timing = process::Timing::default();
        Self {
            terminate_grace: timing.terminate_grace,
            pipe_grace: timing.pipe_grace,
            timeout: None,
        }
    }
}

impl RunSpec {
    /// Returns the request for a stage of a job. Nothing is masked, as the job's log masks.
    ///
    /// `shell` runs the stage's script; the language of steps chooses its own.
    pub fn stage(
        id: RunId,
        command: &StageCommand,
        shell: &str,
        temp_dir: &str,
        timing: RunTiming,
    ) -> Self {
        let script = command.script.clone();
        let (steps, shell) = if command.stage == BuildStage::StepRun {
            (RunSteps::Language(script), Vec::new())
        } else {
            let name = command.stage.to_string();
            let steps = RunSteps::Scripts(vec![ScriptStep { name, script }]);
            (steps, vec![shell.to_owned()])
        };
        Self {
            id,
            steps,
            shell,
            variables: command.variables.clone(),
            masked: Vec::new(),
            working_dir: command.working_dir.clone(),
            temp_dir: temp_dir.to_owned(),
            timing,
            progress: None,
            reports: None,
        }
    }

    /// Returns a request with one script, in the service's own directory and with the default shell.
    pub fn script(id: RunId, script: impl Into<String>) -> Self {
        let script = ScriptStep {
            name: "script".to_owned(),
            script: script.into(),
        };
        Self::new(id, RunSteps::Scripts(vec![script]))
    }

    /// Returns a request with [steps](RunSteps::Language), in the service's own directory.
    pub fn language(id: RunId, steps: impl Into<String>) -> Self {
        Self::new(id, RunSteps::Language(steps.into()))
    }

    fn new(id: RunId, steps: RunSteps) -> Self {
        Self {
            id,
            steps,
            shell: Vec::new(),
            variables: Arc::default(),
            masked: Vec::new(),
            working_dir: String::new(),
            temp_dir: String::new(),
            timing: RunTiming::default(),
            progress: None,
            reports: None,
        }
    }
}

/// Steps of the language are shown by their length, since they may contain secrets.
impl fmt::Debug for RunSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scripts(steps) => f.debug_tuple("Scripts").field(steps).finish(),
            Self::Language(text) => {
                let length = format_args!("[{} bytes]", text.len());
                f.debug_tuple("Language").field(&length).finish()
            }
        }
    }
}

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("id", &self.id)
            .field("steps", &self.steps)
            .field("shell", &self.shell)
            .field("variables", &self.variables)
            .field("masked", &format_args!("[{}]", self.masked.len()))
            .field("working_dir", &self.working_dir)
            .field("temp_dir", &self.temp_dir)
            .field("timing", &self.timing)
            .field("progress", &self.progress.is_some())
            .field("reports", &self.reports.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut run = RunSpec::script(RunId::new("7"), "make");
        run.masked = vec!["correct horse".to_owned()];
        run.variables = Arc::new(StageVariables {
            environment: vec![("TOKEN".to_owned(), "battery staple".to_owned())],
            ..StageVariables::default()
        });
        let text = format!("{run:?}");
        assert!(
            !text.contains("horse") && !text.contains("battery"),
            "{text}"
        );
        assert!(text.contains("TOKEN"), "{text}");
    }
}
