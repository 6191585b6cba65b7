//! A function of the step language, run by hand on this machine.

use crate::error::LocalError;
use crate::history::state::StateDir;
use crate::remote::user_library::UserLibrary;
use crate::run::{recover, supervise};
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
    Asker, ClientOptions, Library, LocalService, RunId, RunResult, RunSpec, RunSteps, RunTiming,
    ServiceOptions, StepReport, StepsClient, StepsError,
};

/// What steps do not see of the environment.
const OWN: &[u8] = b"RUNWRIGHT_";

/// A function, and what it is run with.
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
    /// Where the function is: `./directory`, `builtin://NAME`, as `func` of a step says it.
    pub reference: String,
    /// What it is given; expressions in it are texts.
    pub inputs: BTreeMap<String, InputValue>,
    /// Variables that are set for it.
    pub env: Vec<(String, String)>,
    /// Variables of the job that it would be in: `${{ vars.NAME }}`, and in its environment.
    pub variables: Vec<(String, String)>,
    /// What is hidden in its output.
    pub masked: Vec<String>,
    /// Where it runs, and where relative references begin.
    pub directory: PathBuf,
    /// How long what may take.
    pub timing: RunTiming,
    /// Who brings functions of git repositories and registries. Default: the user's own, as in a run.
    pub library: Option<Arc<dyn Library>>,
}

/// How a function ended.
#[derive(Debug)]
pub struct FunctionEnd {
    /// How its last process ended, or why it did not run.
    pub result: Result<RunResult, StepsError>,
    /// What it was given and what it gave, with all its steps; `None` when it was never begun.
    pub report: Option<StepReport>,
}

impl FunctionRun {
    /// Returns a run without inputs in this directory.
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

    /// Runs the function to its end. What it leaves running is killed then.
    ///
    /// # Errors
    ///
    /// When nothing can be run here. A function that fails, or is not there, is no error but a
    /// [result](FunctionEnd::result).
    ///
    /// # Cancellation
    ///
    /// Its processes are asked to end, then killed. When this program dies they are killed as well.
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
        let environment = environment(supervisor);
        let options = ServiceOptions::new(directory.path());
        let service = LocalService::start(options, supervisor.clone(), environment);
        let service = Arc::new(service.map_err(LocalError::Steps)?);
        let connector = Arc::clone(&service);
        let library = self.library.clone();
        let library = library.unwrap_or_else(|| Arc::new(UserLibrary::new(state)));
        let client = StepsClient::new(connector, ClientOptions::default())
            .with_library(library, Asker::default());
        let report = Arc::new(Mutex::new(None));
        let told = Arc::clone(&report);
        let mut spec = self.spec();
        spec.reports = Some(Arc::new(move |report| {
            *told.lock() = Some(report);
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
            .map(|(name, value)| (name.clone(), literally(value.to_json())))
            .collect();
        let step = json!([{
            "name": name_of(&self.reference),
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

/// Returns a text that stands for itself where expressions are looked for.
fn literal(text: &str) -> String {
    text.replace("${{", "\\${{")
}

/// Returns a value all of whose texts stand for themselves.
fn literally(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(literal(&text)),
        Value::Array(values) => values.into_iter().map(literally).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            Value::Object(fields.map(|(name, it)| (name, literally(it))).collect())
        }
        other => other,
    }
}

/// Returns a name for a step that calls this.
fn name_of(reference: &str) -> String {
    let (place, _) = reference.rsplit_once('@').unwrap_or((reference, ""));
    let words = place.split(['/', ':', ' ']);
    let mut words = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let last = words.next_back().unwrap_or("function");
    let last = last.strip_suffix(".yml").unwrap_or(last);
    last.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn environment(supervisor: &Supervisor) -> Vec<(OsString, OsString)> {
    let all = supervisor.environment().iter();
    let others = all.filter(|(name, _)| !name.as_encoded_bytes().starts_with(OWN));
    others
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_the_name_of_what_it_calls() {
        let check = |reference, expect| assert_eq!(name_of(reference), expect, "{reference}");
        check("./greet", "greet");
        check("../a/my-step.yml", "my_step");
        check(".", "function");
        check("builtin://function/oci/build", "build");
        check("gitlab.com/components/echo@v1.0", "echo");
        check("registry.example.com/org/echo:1.2", "echo");
    }
}
