//! A step of a sequence: what it refers to, with what it is given.

use super::builtin::Builtin;
use super::engine::{Ended, Engine};
use super::frame::{Env, Frame, Names};
use super::locate::Located;
use super::result;
use super::words::{env_of, text_of, wrong};
use crate::language::{Call, Function, Place, Reference, Target, Value, bind_inputs};
use crate::service::course::Failure;
use crate::wire::v1::StepResult;
use crate::wire::v1::step_result::Status;
use std::collections::BTreeMap;

/// Functions that call each other deeper than this are ended: they would do so for ever.
const DEEPEST: usize = 32;

/// Returns what a reference leads to.
fn place_of(reference: &Reference, names: &Names) -> Result<Place, Failure> {
    match reference {
        Reference::Fixed(place) => Ok(place.clone()),
        Reference::Dynamic(template) => {
            let text = text_of(template, names, "reference")?;
            Place::parse(&text).map_err(wrong)
        }
        Reference::Parts(parts) => {
            parts.place(&|template, name| text_of(template, names, &format!("reference: `{name}`")))
        }
    }
}

impl Engine<'_> {
    /// Runs a step of the function of a frame, over whose environment `own` is set.
    pub(super) async fn call(&mut self, call: &Call, frame: &Frame, own: &Env) -> Ended {
        let mut told = result::called(call);
        match Box::pin(self.called(call, frame, own, &mut told)).await {
            Ok(ended) => ended,
            Err(failure) => {
                told.status = result::status(&failure).into();
                Ended {
                    told,
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
        told: &mut StepResult,
    ) -> Result<Ended, Failure> {
        let exchange = self.exchange()?;
        let names = Names::new(&self.surroundings, frame, own, &frame.exchange);
        let given = env_of(&call.env, &names)?;
        result::note_env(told, &given);
        let mut layers = frame.env.clone();
        layers.extend(own.clone());
        layers.extend(given);
        let reference = match &call.target {
            Target::Script(script) => {
                // Its own files, and what is set for it: nothing describes it but this.
                let names = Names::new(&self.surroundings, frame, &layers, &exchange);
                let script = text_of(script, &names, "script")?;
                let outputs = Box::pin(self.script(&script, &layers, &exchange, told)).await?;
                return Ok(success(std::mem::take(told), outputs));
            }
            Target::Function(reference) => reference,
        };
        let place = place_of(reference, &names)?;
        drop(names);
        result::note_place(told, &place);
        if let Place::Builtin(name) = &place {
            let builtin = Builtin::named(name).map_err(wrong)?;
            let inputs = self.inputs(call, &builtin.described(), frame, own)?;
            let outputs = Box::pin(self.builtin(builtin, inputs, &layers, &exchange, told)).await?;
            return Ok(success(std::mem::take(told), outputs));
        }
        if frame.depth >= DEEPEST {
            return Err(wrong(format!(
                "functions call each other more than {DEEPEST} deep"
            )));
        }
        let Located {
            function,
            directory,
            tree,
        } = Box::pin(self.locate(&place, frame, &layers)).await?;
        told.spec_definition = Some(result::described(&function));
        // What a text around an expression means depends on what is declared.
        let inputs = self.inputs(call, &function, frame, own)?;
        let given: Vec<_> = inputs.keys().cloned().collect();
        let inputs = bind_inputs(&function.inputs, inputs).map_err(wrong)?;
        // Only now is it known which of them are secrets.
        self.hide([&inputs])?;
        result::note_inputs(told, &given, &inputs);
        let mut inner = Frame {
            directory,
            tree,
            inputs,
            env: layers,
            steps: BTreeMap::new(),
            exchange,
            depth: frame.depth + 1,
        };
        let told = std::mem::take(told);
        Ok(self.function(&function, &mut inner, told).await)
    }

    /// Returns what a step of a frame gives to a function.
    fn inputs(
        &mut self,
        call: &Call,
        function: &Function,
        frame: &Frame,
        own: &Env,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let names = Names::new(&self.surroundings, frame, own, &frame.exchange);
        let mut inputs = BTreeMap::new();
        for (name, argument) in &call.inputs {
            let value_type = function.inputs.get(name).map(|it| it.value_type);
            let value = argument.evaluate_as(value_type, &names);
            let value = value.map_err(|error| wrong(format!("input \"{name}\": {error}")))?;
            inputs.insert(name.clone(), value);
        }
        self.hide(inputs.values())?;
        Ok(inputs)
    }

    /// Returns the credentials of registries that steps have set, or nothing: those of the job are known outside.
    pub(super) fn docker_auth_config(&self, layers: &Env) -> String {
        const NAME: &str = "DOCKER_AUTH_CONFIG";
        let set = layers.get(NAME).map(Value::to_text);
        set.or_else(|| self.surroundings.exports.get(NAME).cloned())
            .unwrap_or_default()
    }
}

/// Returns the end of a step that gives this.
fn success(mut told: StepResult, outputs: BTreeMap<String, Value>) -> Ended {
    told.status = Status::Success.into();
    told.outputs = result::shown_values(&outputs);
    Ended {
        told,
        outputs,
        failure: None,
    }
}
