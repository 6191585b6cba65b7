//! The course of a function and its steps.

use super::exchange::{Declared, Exchange};
use super::frame::{Env, Frame, Names, Surroundings};
use super::result;
use super::secrets::Secrets;
use super::tree::Trees;
use super::words::{env_of, outputs_of, words_of, wrong};
use crate::language::{Action, Call, Function, Sequence, Value, bind_inputs};
use crate::service::course::Failure;
use crate::service::log_output::say;
use crate::service::request::Request;
use crate::service::steps::stopped;
use crate::wire::v1::StepResult;
use crate::wire::v1::result::ErrorKind;
use crate::wire::v1::step_result::Status;
use fail_point::fail_point;
use process::{ProcessTree, Timing};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the steps of a request start with.
#[derive(Debug)]
pub(in crate::service) struct Setting {
    /// What the runner and the environment itself set.
    pub(in crate::service) env: Vec<(OsString, OsString)>,
    /// The job's variables.
    pub(in crate::service) vars: BTreeMap<String, Value>,
    pub(in crate::service) timing: Timing,
    /// Whether the log has no lines of the service's own.
    pub(in crate::service) quiet: bool,
}

/// Runs the functions of one request.
#[derive(Debug)]
pub(in crate::service) struct Engine<'r> {
    pub(super) request: &'r Request,
    pub(super) tree: &'r ProcessTree,
    pub(super) surroundings: Surroundings,
    pub(super) timing: Timing,
    /// What was brought from elsewhere.
    pub(super) trees: Trees,
    pub(super) quiet: bool,
    secrets: Secrets,
    /// How many steps have begun.
    begun: usize,
}

/// How a step ended, and what it gave.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) told: StepResult,
    pub(super) outputs: BTreeMap<String, Value>,
    pub(super) failure: Option<Failure>,
}

impl<'r> Engine<'r> {
    pub(in crate::service) fn new(
        request: &'r Request,
        tree: &'r ProcessTree,
        setting: Setting,
    ) -> Self {
        Self {
            request,
            tree,
            surroundings: Surroundings {
                env: setting.env,
                vars: setting.vars,
                exports: BTreeMap::new(),
                work_dir: request.work_dir.clone(),
            },
            timing: setting.timing,
            trees: Trees::default(),
            quiet: setting.quiet,
            secrets: Secrets::default(),
            begun: 0,
        }
    }

    /// Runs what a request asks for. Returns why it did not succeed, if so.
    pub(in crate::service) async fn run(mut self, function: &Function) -> Option<Failure> {
        let exchange = match self.exchange() {
            Ok(exchange) => exchange,
            Err(failure) => return Some(failure),
        };
        let inputs = match bind_inputs(&function.inputs, BTreeMap::new()) {
            Ok(inputs) => inputs,
            Err(words) => return Some(wrong(words)),
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
    pub(super) async fn function(
        &mut self,
        function: &Function,
        frame: &mut Frame,
        told: StepResult,
    ) -> Ended {
        let mut ended = Ended {
            told,
            outputs: BTreeMap::new(),
            failure: None,
        };
        let done = Box::pin(self.act(function, frame, &mut ended.told)).await;
        let hidden = done.and_then(|outputs| self.hide(outputs.values()).map(|()| outputs));
        match hidden {
            Ok(outputs) => {
                ended.told.outputs = result::shown_values(&outputs);
                ended.outputs = outputs;
                ended.told.status = Status::Success.into();
            }
            Err(failure) => {
                ended.told.status = result::status(&failure).into();
                ended.failure = Some(failure);
            }
        }
        ended
    }

    async fn act(
        &mut self,
        function: &Function,
        frame: &mut Frame,
        told: &mut StepResult,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let none = Env::new();
        let own = {
            let names = Names::new(&self.surroundings, frame, &none, &frame.exchange);
            env_of(&function.env, &names)?
        };
        match &function.action {
            Action::Exec(exec) => {
                let names = Names::new(&self.surroundings, frame, &own, &frame.exchange);
                let (command, directory) = words_of(exec, &names)?;
                let work_dir = self.directory(directory);
                let env = self.surroundings.process_env([&frame.env, &own]);
                result::note_whole_env(told, [&frame.env, &own]);
                Box::pin(self.process(command, work_dir, env, told)).await?;
                let given = frame
                    .exchange
                    .outputs(Declared::By(&function.outputs))
                    .map_err(wrong)?;
                self.export(&frame.exchange, told)?;
                Ok(given)
            }
            Action::Run(sequence) => {
                result::note_whole_env(told, [&frame.env, &own]);
                Box::pin(self.sequence(sequence, frame, &own, told)).await?;
                let names = Names::new(&self.surroundings, frame, &own, &frame.exchange);
                outputs_of(function, sequence, frame, &names)
            }
        }
    }

    /// Runs the steps of a sequence, whose own variables are `own`.
    async fn sequence(
        &mut self,
        sequence: &Sequence,
        frame: &mut Frame,
        own: &Env,
        told: &mut StepResult,
    ) -> Result<(), Failure> {
        for (number, call) in sequence.steps.iter().enumerate() {
            if self.request.cancellation.is_canceled() {
                return Err(stopped(&self.request.cancellation));
            }
            if !self.quiet {
                say(self.request, &format!("Running step \"{}\"", call.name));
            }
            let is_outermost = frame.depth == 0;
            if is_outermost {
                self.request.update(|course| course.step_began(number));
            }
            let ended = Box::pin(self.call(call, frame, own)).await;
            if is_outermost {
                let event = ended.told.clone();
                self.request.update(|course| course.step_told(event));
            }
            told.sub_step_results.push(ended.told);
            if let Some(failure) = ended.failure {
                return Err(self.explained(call, failure));
            }
            let outputs = Value::named(ended.outputs);
            frame.steps.insert(call.name.clone(), outputs);
        }
        Ok(())
    }

    /// Says in the log why a step failed that no process says it of.
    fn explained(&self, call: &Call, failure: Failure) -> Failure {
        if failure.is_told || failure.is_stop() {
            return failure;
        }
        // A reference that is made of a secret may be in the words.
        let message = format!("step \"{}\": {}", call.name, failure.message);
        let message = self.request.log.masked(&message);
        say(self.request, &format!("ERROR: {message}"));
        Failure {
            message,
            is_told: true,
            ..failure
        }
    }

    /// Takes what a process exports to all that come after it.
    pub(super) fn export(
        &mut self,
        exchange: &Exchange,
        told: &mut StepResult,
    ) -> Result<(), Failure> {
        let exports = exchange.exports().map_err(wrong)?;
        told.exports.extend(exports.clone());
        self.surroundings.exports.extend(exports);
        Ok(())
    }

    /// Sees to it that no secret gets into the log.
    pub(super) fn hide<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> Result<(), Failure> {
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

    pub(super) fn exchange(&mut self) -> Result<Exchange, Failure> {
        let directory = self.request.directory.exchange(self.begun);
        self.begun += 1;
        let made = fail_point!("steps::exchange::create", Exchange::create(directory));
        made.map_err(|error| {
            let words = format!("cannot make the directory of a step: {error}");
            Failure::new(ErrorKind::Internal, words)
        })
    }
}
