//! Runs a step of a sequence: resolves its reference and evaluates its inputs.

use super::builtin::Builtin;
use super::evaluate::{env_of, step_failure, text_of};
use super::frame::{Env, Frame, Names};
use super::locate::Located;
use super::step_result;
use super::{Engine, StepOutcome};
use crate::language::{Call, Function, Place, Reference, Target, Value, bind_inputs};
use crate::service::state::Failure;
use crate::wire::v1::StepResult;
use crate::wire::v1::step_result::Status;
use std::collections::BTreeMap;

/// The deepest nesting of functions. A deeper one would be endless.
const DEEPEST: usize = 32;

/// Resolves a reference.
fn place_of(reference: &Reference, names: &Names) -> Result<Place, Failure> {
    match reference {
        Reference::Fixed(place) => Ok(place.clone()),
        Reference::Dynamic(template) => {
            let text = text_of(template, names, "reference")?;
            Place::parse(&text).map_err(step_failure)
        }
        Reference::Parts(parts) => {
            parts.place(&|template, name| text_of(template, names, &format!("reference: `{name}`")))
        }
    }
}

impl Engine<'_> {
    /// Runs a step of a frame's function; `own` are the variables of that function.
    pub(super) async fn call(&mut self, call: &Call, frame: &Frame, own: &Env) -> StepOutcome {
        let mut result = step_result::called(call);
        match Box::pin(self.called(call, frame, own, &mut result)).await {
            Ok(ended) => ended,
            Err(failure) => {
                result.status = step_result::status(&failure).into();
                StepOutcome {
                    result,
                    outputs: BTreeMap::new(),
                    failure: Some(failure),
                }
            }
        }
    }

    async fn called(
        &mut self,
        call: &Call,
        frame: &Frame,
        own: &Env,
        result: &mut StepResult,
    ) -> Result<StepOutcome, Failure> {
        let exchange = self.exchange()?;
        let names = Names::new(&self.variables, frame, own, &frame.exchange);
        let given = env_of(&call.env, &names)?;
        step_result::note_env(result, &given);
        let mut layers = frame.env.clone();
        layers.extend(own.clone());
        layers.extend(given);
        let reference = match &call.target {
            Target::Script(script) => {
                // A script sees its own files and its own variables: no function declares them.
                let names = Names::new(&self.variables, frame, &layers, &exchange);
                let script = text_of(script, &names, "script")?;
                let outputs = Box::pin(self.script(&script, &layers, &exchange, result)).await?;
                return Ok(success(std::mem::take(result), outputs));
            }
            Target::Function(reference) => reference,
        };
        let place = place_of(reference, &names)?;
        drop(names);
        step_result::note_place(result, &place);
        if let Place::Builtin(name) = &place {
            let builtin = Builtin::named(name).map_err(step_failure)?;
            let inputs = self.inputs(call, &builtin.described(), frame, own)?;
            let outputs =
                Box::pin(self.builtin(builtin, inputs, &layers, &exchange, result)).await?;
            return Ok(success(std::mem::take(result), outputs));
        }
        if frame.depth >= DEEPEST {
            return Err(step_failure(format!(
                "functions are nested more than {DEEPEST} deep"
            )));
        }
        let Located {
            function,
            directory,
            tree,
        } = Box::pin(self.locate(&place, frame, &layers)).await?;
        result.spec_definition = Some(step_result::described(&function));
        // The declared type of an input decides what text around an expression means.
        let inputs = self.inputs(call, &function, frame, own)?;
        let given: Vec<_> = inputs.keys().cloned().collect();
        let inputs = bind_inputs(&function.inputs, inputs).map_err(step_failure)?;
        // Now their secrets are known.
        self.hide([&inputs])?;
        step_result::note_inputs(result, &given, &inputs);
        let mut inner = Frame {
            directory,
            tree,
            inputs,
            env: layers,
            steps: BTreeMap::new(),
            exchange,
            depth: frame.depth + 1,
        };
        let result = std::mem::take(result);
        Ok(self.function(&function, &mut inner, result).await)
    }

    /// Evaluates the inputs that a step passes to a function.
    fn inputs(
        &mut self,
        call: &Call,
        function: &Function,
        frame: &Frame,
        own: &Env,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let names = Names::new(&self.variables, frame, own, &frame.exchange);
        let mut inputs = BTreeMap::new();
        for (name, argument) in &call.inputs {
            let value_type = function.inputs.get(name).map(|it| it.value_type);
            let value = argument.evaluate_as(value_type, &names);
            let value =
                value.map_err(|error| step_failure(format!("input \"{name}\": {error}")))?;
            inputs.insert(name.clone(), value);
        }
        self.hide(inputs.values())?;
        Ok(inputs)
    }

    /// Returns the registry credentials that steps have set, or nothing: the host knows those of the job.
    pub(super) fn docker_auth_config(&self, layers: &Env) -> String {
        const NAME: &str = "DOCKER_AUTH_CONFIG";
        let set = layers.get(NAME).map(Value::to_text);
        set.or_else(|| self.variables.exports.get(NAME).cloned())
            .unwrap_or_default()
    }
}

/// Returns the outcome of a successful step.
fn success(mut result: StepResult, outputs: BTreeMap<String, Value>) -> StepOutcome {
    result.status = Status::Success.into();
    result.outputs = step_result::shown_values(&outputs);
    StepOutcome {
        result,
        outputs,
        failure: None,
    }
}
