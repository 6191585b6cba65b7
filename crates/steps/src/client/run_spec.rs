use super::run_id::RunId;
use super::step_report::StepReports;
use executor_core::StageVariables;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What the service is asked to run.
#[derive(Clone)]
pub struct RunSpec {
    /// The name of the request.
    pub id: RunId,
    /// What is run.
    pub steps: RunSteps,
    /// Program and arguments before the path of the script; empty: bash if it is there, else sh.
    pub shell: Vec<String>,
    /// What the scripts see; values are already expanded, and are taken as they are.
    pub variables: Arc<StageVariables>,
    /// What the service hides from the log before anybody sees it.
    pub masked: Vec<String>,
    /// Where the scripts start.
    pub working_dir: String,
    /// Where file variables are written, `<temp_dir>/<key>`.
    pub temp_dir: String,
    /// How long what may take.
    pub timing: RunTiming,
    /// Is told, now and then, from which byte of the log on somebody else could [resume](super::StepsClient::resume).
    pub progress: Option<Progress>,
    /// Is told what became of the steps, also of a request that was stopped.
    pub reports: Option<StepReports>,
}

/// Takes the byte of a log up to which all is in the output.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// What a request runs.
#[derive(Clone, PartialEq, Eq)]
pub enum RunSteps {
    /// Scripts, one after the other until one fails. They are taken as they are, and the log is theirs alone.
    Scripts(Vec<ScriptStep>),
    /// Steps of the [language](crate::language), as the `run` of a job has them: JSON or YAML. The log says which
    /// begins.
    Language(String),
}

/// One script of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptStep {
    /// Its name, which its result has too.
    pub name: String,
    /// What the shell is given.
    pub script: String,
}

/// How long a request may take to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTiming {
    /// From SIGTERM to SIGKILL.
    pub terminate_grace: Duration,
    /// How long a background process may hold the output open when a script has ended.
    pub pipe_grace: Duration,
    /// How long the whole request may take; the service ends it then, even if nobody is there to ask for it.
    pub timeout: Option<Duration>,
}

impl Default for RunTiming {
    /// As [`process::Timing`], without an end.
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
    /// Returns a request of one script, in the service's own directory and by the shell that is there.
    pub fn script(id: RunId, script: impl Into<String>) -> Self {
        let script = ScriptStep {
            name: "script".to_owned(),
            script: script.into(),
        };
        Self::new(id, RunSteps::Scripts(vec![script]))
    }

    /// Returns a request of [steps](RunSteps::Language), in the service's own directory.
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

/// Steps of the language are shown by their length: nobody knows what is in them.
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
