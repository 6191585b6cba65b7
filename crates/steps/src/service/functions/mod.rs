//! Runs functions of the step language.
//!
//! | module | content |
//! |---|---|
//! | `frame` | the names of expressions, and the environment of a step |
//! | `call` | runs a step of a sequence |
//! | `locate` | finds the function of a reference |
//! | `fetched_tree` | fetched files |
//! | `builtin` | functions of the service itself |
//! | `exchange` | the files with outputs and exports |
//! | `processes` | processes of functions |
//! | `secrets` | which values are masked |
//! | `evaluate` | evaluates the texts of a step |
//! | `step_result` | builds the results of `FollowSteps` |

mod builtin;
mod call;
mod evaluate;
mod exchange;
mod fetched_tree;
mod frame;
mod locate;
mod processes;
mod secrets;
mod step_result;

use self::evaluate::{env_of, outputs_of, step_failure, words_of};
use self::exchange::{Declared, Exchange};
use self::fetched_tree::FetchedTrees;
use self::frame::{Env, Frame, Names, SharedVariables};
use self::secrets::Secrets;
use crate::language::{Action, Call, Function, Sequence, Value, bind_inputs};
use crate::service::request::Request;
use crate::service::state::Failure;
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::step_result::Status;
use fail_point::fail_point;
use process::{ProcessTree, Timing};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The settings of all steps of a request.
#[derive(Debug)]
pub(super) struct StepSettings {
    /// The variables of the runner and of the environment.
    pub(super) env: Vec<(OsString, OsString)>,
    /// The job's variables.
    pub(super) vars: BTreeMap<String, Value>,
    pub(super) timing: Timing,
    /// Whether the service itself writes nothing to the log.
    pub(super) quiet: bool,
}

/// Runs the functions of one request.
#[derive(Debug)]
pub(super) struct Engine<'r> {
    request: &'r Request,
    tree: &'r ProcessTree,
    variables: SharedVariables,
    timing: Timing,
    /// The fetched files.
    trees: FetchedTrees,
    quiet: bool,
    secrets: Secrets,
    /// The number of started steps.
    started: usize,
}

/// The outcome of a step.
#[derive(Debug)]
struct StepOutcome {
    result: StepResult,
    outputs: BTreeMap<String, Value>,
    failure: Option<Failure>,
}

impl<'r> Engine<'r> {
    pub(super) fn new(request: &'r Request, tree: &'r ProcessTree, settings: StepSettings) -> Self {
        Self {
            request,
            tree,
            variables: SharedVariables {
                env: settings.env,
                vars: settings.vars,
                exports: BTreeMap::new(),
                work_dir: request.work_dir.clone(),
            },
            timing: settings.timing,
            trees: FetchedTrees::default(),
            quiet: settings.quiet,
            secrets: Secrets::default(),
            started: 0,
        }
    }

    /// Runs the function of a request; returns why it did not succeed.
    pub(super) async fn run(mut self, function: &Function) -> Option<Failure> {
        let exchange = match self.exchange() {
            Ok(exchange) => exchange,
            Err(failure) => return Some(failure),
        };
        let inputs = match bind_inputs(&function.inputs, BTreeMap::new()) {
            Ok(inputs) => inputs,
            Err(words) => return Some(step_failure(words)),
        };
        let mut frame = Frame {
            directory: PathBuf::from(&self.request.work_dir),
            tree: None,
            inputs,
            env: Env::new(),
            steps: BTreeMap::new(),
            exchange,
            depth: 0,
        };
        let ended = self
            .function(function, &mut frame, StepResult::default())
            .await;
        ended.failure
    }

    /// Runs a function in its frame.
    async fn function(
        &mut self,
        function: &Function,
        frame: &mut Frame,
        result: StepResult,
    ) -> StepOutcome {
        let mut ended = StepOutcome {
            result,
            outputs: BTreeMap::new(),
            failure: None,
        };
        let done = Box::pin(self.act(function, frame, &mut ended.result)).await;
        let hidden = done.and_then(|outputs| self.hide(outputs.values()).map(|()| outputs));
        match hidden {
            Ok(outputs) => {
                ended.result.outputs = step_result::shown_values(&outputs);
                ended.outputs = outputs;
                ended.result.status = Status::Success.into();
            }
            Err(failure) => {
                ended.result.status = step_result::status(&failure).into();
                ended.failure = Some(failure);
            }
        }
        ended
    }

    async fn act(
        &mut self,
        function: &Function,
        frame: &mut Frame,
        result: &mut StepResult,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let none = Env::new();
        let own = {
            let names = Names::new(&self.variables, frame, &none, &frame.exchange);
            env_of(&function.env, &names)?
        };
        match &function.action {
            Action::Exec(exec) => {
                let names = Names::new(&self.variables, frame, &own, &frame.exchange);
                let (command, directory) = words_of(exec, &names)?;
                let work_dir = self.directory(directory);
                let env = self.variables.process_env([&frame.env, &own]);
                step_result::note_whole_env(result, [&frame.env, &own]);
                Box::pin(self.process(command, work_dir, env, result)).await?;
                let given = frame
                    .exchange
                    .outputs(Declared::By(&function.outputs))
                    .map_err(step_failure)?;
                self.export(&frame.exchange, result)?;
                Ok(given)
            }
            Action::Run(sequence) => {
                step_result::note_whole_env(result, [&frame.env, &own]);
                Box::pin(self.sequence(sequence, frame, &own, result)).await?;
                let names = Names::new(&self.variables, frame, &own, &frame.exchange);
                outputs_of(function, sequence, frame, &names)
            }
        }
    }

    /// Runs the steps of a sequence; `own` are the variables of its function.
    async fn sequence(
        &mut self,
        sequence: &Sequence,
        frame: &mut Frame,
        own: &Env,
        result: &mut StepResult,
    ) -> Result<(), Failure> {
        for (number, call) in sequence.steps.iter().enumerate() {
            if self.request.cancellation.is_canceled() {
                return Err(Failure::stopped(&self.request.cancellation));
            }
            if !self.quiet {
                self.request
                    .log_line(&format!("Running step \"{}\"", call.name));
            }
            let is_outermost = frame.depth == 0;
            if is_outermost {
                self.request.update(|state| state.step_started(number));
            }
            let ended = Box::pin(self.call(call, frame, own)).await;
            if is_outermost {
                let event = ended.result.clone();
                self.request.update(|state| state.step_finished(event));
            }
            result.sub_step_results.push(ended.result);
            if let Some(failure) = ended.failure {
                return Err(self.logged(call, failure));
            }
            let outputs = Value::named(ended.outputs);
            frame.steps.insert(call.name.clone(), outputs);
        }
        Ok(())
    }

    /// Logs why a step failed, unless the log or a process has said so.
    fn logged(&self, call: &Call, failure: Failure) -> Failure {
        if failure.is_logged || failure.is_stop() {
            return failure;
        }
        // The message may contain a reference with a secret in it.
        let message = format!("step \"{}\": {}", call.name, failure.message);
        let message = self.request.log.masked(&message);
        self.request.log_line(&format!("ERROR: {message}"));
        Failure {
            message,
            is_logged: true,
            ..failure
        }
    }

    /// Adds the exports of a process, for all later steps.
    fn export(&mut self, exchange: &Exchange, result: &mut StepResult) -> Result<(), Failure> {
        let exports = exchange.exports().map_err(step_failure)?;
        result.exports.extend(exports.clone());
        self.variables.exports.extend(exports);
        Ok(())
    }

    /// Masks the secrets of values in the log.
    fn hide<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> Result<(), Failure> {
        let mut new = Vec::new();
        for value in values {
            new.extend(self.secrets.of(value)?);
        }
        self.request.log.add_masks(new);
        Ok(())
    }

    fn directory(&self, named: Option<String>) -> PathBuf {
        let work_dir = Path::new(&self.request.work_dir);
        named.map_or_else(|| work_dir.to_owned(), |named| work_dir.join(named))
    }

    fn exchange(&mut self) -> Result<Exchange, Failure> {
        let directory = self.request.directory.exchange(self.started);
        self.started += 1;
        let created = fail_point!("steps::exchange::create", Exchange::create(directory));
        created.map_err(|error| {
            let words = format!("cannot create the directory of a step: {error}");
            Failure::new(ErrorKind::Internal, words)
        })
    }
}
