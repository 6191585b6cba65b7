//! A function of the step language, run on this machine without a job.

use crate::error::LocalError;
use crate::history::state::StateDir;
use crate::remote::user_library::UserLibrary;
use crate::run::supervision::{recover, supervise};
use executor_core::{Cancellation, StageVariables};
use parking_lot::Mutex;
use process::{OutputSink, Supervisor};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use steps::language::Value as InputValue;
use steps::{
    ClientOptions, JobCredentials, Library, LocalService, RunId, RunResult, RunSpec, RunSteps,
    RunTiming, ServiceOptions, StepReport, StepsClient, StepsError,
};

/// Variables with this prefix are not passed to steps.
const OWN_PREFIX: &[u8] = b"RUNWRIGHT_";

/// A function, and its inputs and settings.
///
/// # Examples
///
/// ```no_run
/// use executor_core::Cancellation;
/// use workstation::{FunctionRun, InputValue, StateDir};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut run = FunctionRun::new("./greet", std::env::current_dir()?);
/// run.inputs.insert("who".to_owned(), InputValue::text("Sally"));
/// let mut output = |_, bytes: &[u8]| print!("{}", String::from_utf8_lossy(bytes));
/// let state = StateDir::of_user()?;
/// let ended = run.execute(&state, &mut output, &Cancellation::new()).await?;
/// if let Some(report) = ended.report {
///     println!("{:?}", report.outputs);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FunctionRun {
    /// The function, as `func` of a step names it: `./directory`, `builtin://NAME`.
    pub reference: String,
    /// Its inputs; expressions in them are not evaluated.
    pub inputs: BTreeMap<String, InputValue>,
    /// Its environment variables.
    pub env: Vec<(String, String)>,
    /// Job variables: `${{ vars.NAME }}`, and environment variables of its processes.
    pub variables: Vec<(String, String)>,
    /// Values that are masked in its output.
    pub masked: Vec<String>,
    /// The working directory, which relative references start from.
    pub directory: PathBuf,
    /// Its time limits.
    pub timing: RunTiming,
    /// Fetches functions of git repositories and registries; default the user's library, as in a run.
    pub library: Option<Arc<dyn Library>>,
}

/// How a function ended.
#[derive(Debug)]
pub struct FunctionEnd {
    /// How its last process ended, or why it did not run.
    pub result: Result<RunResult, StepsError>,
    /// Its inputs, outputs and steps; `None` if it never started.
    pub report: Option<StepReport>,
}

impl FunctionRun {
    /// Returns a function without inputs, to run in this directory.
    pub fn new(reference: impl Into<String>, directory: impl Into<PathBuf>) -> Self {
        Self {
            reference: reference.into(),
            inputs: BTreeMap::new(),
            env: Vec::new(),
            variables: Vec::new(),
            masked: Vec::new(),
            directory: directory.into(),
            timing: RunTiming::default(),
            library: None,
        }
    }

    /// Runs the function, and then kills what it leaves running.
    ///
    /// # Errors
    ///
    /// When this machine cannot run it. A function that fails or is missing is a
    /// [result](FunctionEnd::result).
    ///
    /// # Cancellation
    ///
    /// Its processes are asked to end, then killed. If this program dies they are killed as well.
    pub async fn execute(
        &self,
        state: &StateDir,
        output: &mut dyn OutputSink,
        cancellation: &Cancellation,
    ) -> Result<FunctionEnd, LocalError> {
        recover(state.clone(), None).await?;
        let supervisor = supervise(state)?;
        let ended = self
            .execute_by(&supervisor, state, output, cancellation)
            .await;
        let closed = supervisor.shutdown().await;
        let ended = ended?;
        closed?;
        Ok(ended)
    }

    async fn execute_by(
        &self,
        supervisor: &Supervisor,
        state: &StateDir,
        output: &mut dyn OutputSink,
        cancellation: &Cancellation,
    ) -> Result<FunctionEnd, LocalError> {
        let directory = supervisor.temp_dir(state.path(), "steps-")?;
        let process_env = process_env(supervisor);
        let options = ServiceOptions::new(directory.path());
        let service = LocalService::start(options, supervisor.clone(), process_env);
        let service = Arc::new(service.map_err(LocalError::Steps)?);
        let connector = Arc::clone(&service);
        let library = self.library.clone();
        let library = library.unwrap_or_else(|| Arc::new(UserLibrary::new(state)));
        let client = StepsClient::new(connector, ClientOptions::default())
            .with_library(library, JobCredentials::default());
        let report = Arc::new(Mutex::new(None));
        let reported = Arc::clone(&report);
        let mut spec = self.spec();
        spec.reports = Some(Arc::new(move |report| {
            *reported.lock() = Some(report);
        }));
        let result = client.execute(&spec, output, cancellation).await;
        service.close().await.map_err(LocalError::Steps)?;
        drop(client);
        directory.remove().await?;
        let report = report.lock().take();
        Ok(FunctionEnd { result, report })
    }

    fn spec(&self) -> RunSpec {
        let env: Map<String, Value> = self
            .env
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(literal(value))))
            .collect();
        let inputs: Map<String, Value> = self
            .inputs
            .iter()
            .map(|(name, value)| (name.clone(), literal_value(value.to_json())))
            .collect();
        let step = json!([{
            "name": step_name(&self.reference),
            "func": self.reference,
            "inputs": inputs,
            "env": env,
        }]);
        RunSpec {
            id: RunId::new("function"),
            steps: RunSteps::Language(step.to_string()),
            shell: Vec::new(),
            variables: Arc::new(StageVariables {
                environment: self.variables.clone(),
                ..StageVariables::default()
            }),
            masked: self.masked.clone(),
            working_dir: self.directory.display().to_string(),
            temp_dir: String::new(),
            timing: self.timing,
            progress: None,
            reports: None,
        }
    }
}

/// Escapes a text so that it has no expressions.
fn literal(text: &str) -> String {
    text.replace("${{", "\\${{")
}

/// Escapes all texts in a value.
fn literal_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(literal(&text)),
        Value::Array(values) => values.into_iter().map(literal_value).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, it)| (name, literal_value(it))).collect())
        }
        other => other,
    }
}

/// Returns a name for a step that calls this function.
fn step_name(reference: &str) -> String {
    let (path, _) = reference.rsplit_once('@').unwrap_or((reference, ""));
    let words = path.split(['/', ':', ' ']);
    let mut words = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let last = words.next_back().unwrap_or("function");
    let last = last.strip_suffix(".yml").unwrap_or(last);
    last.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn process_env(supervisor: &Supervisor) -> Vec<(OsString, OsString)> {
    let all = supervisor.environment().iter();
    let others = all.filter(|(name, _)| !name.as_encoded_bytes().starts_with(OWN_PREFIX));
    others
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_is_named_after_its_function() {
        let check = |reference, expect| assert_eq!(step_name(reference), expect, "{reference}");
        check("./greet", "greet");
        check("../a/my-step.yml", "my_step");
        check(".", "function");
        check("builtin://function/oci/build", "build");
        check("gitlab.com/components/echo@v1.0", "echo");
        check("registry.example.com/org/echo:1.2", "echo");
    }
}
