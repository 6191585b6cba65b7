//! What the expressions of a function may name.

use crate::language::Value;
use crate::language::expression::Scope;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::exchange::Exchange;

/// Variables of an environment, as texts that may be secrets.
pub(super) type Env = BTreeMap<String, Value>;

/// A function that runs.
#[derive(Debug)]
pub(super) struct Frame {
    /// The directory of the file that describes it.
    pub(super) directory: PathBuf,
    /// What was brought from elsewhere that it is in: its relative references do not lead out of it.
    pub(super) tree: Option<PathBuf>,
    /// A struct.
    pub(super) inputs: Value,
    /// What the steps around it set, the outer ones first, and whoever called it.
    pub(super) env: Env,
    /// What its steps have given so far.
    pub(super) steps: BTreeMap<String, Value>,
    pub(super) exchange: Exchange,
    /// How many functions it is in.
    pub(super) depth: usize,
}

/// What all functions of a request share.
#[derive(Debug)]
pub(super) struct Surroundings {
    /// What the runner and the environment itself set.
    pub(super) env: Vec<(OsString, OsString)>,
    /// The job's variables.
    pub(super) vars: Env,
    /// What steps have exported.
    pub(super) exports: BTreeMap<String, String>,
    pub(super) work_dir: String,
}

impl Surroundings {
    /// Returns the environment of a process, without what its function sets.
    pub(super) fn process_env<'a>(
        &self,
        layers: impl IntoIterator<Item = &'a Env>,
    ) -> Vec<(OsString, OsString)> {
        let mut env = self.env.clone();
        let exports = self.exports.iter();
        env.extend(exports.map(|(name, value)| (name.into(), value.into())));
        for layer in layers {
            let layer = layer
                .iter()
                .map(|(name, value)| (name.into(), value.to_text().into()));
            env.extend(layer);
        }
        env
    }

    /// Returns the same as expressions see it.
    fn visible_env(&self, layers: &[&Env]) -> Value {
        let outer = self.env.iter().filter_map(|(name, value)| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            Some((name.to_owned(), Value::text(value)))
        });
        let exports = self
            .exports
            .iter()
            .map(|(name, value)| (name.clone(), Value::text(value)));
        let layers = layers.iter().flat_map(|layer| {
            layer
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()))
        });
        Value::named(outer.chain(exports).chain(layers))
    }
}

/// All that expressions may name at one place.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<&'static str, Value>);

impl Names {
    /// Returns what the expressions of a function may name, where `own` is set over the environment of its frame, and
    /// files are exchanged by `exchange`.
    pub(super) fn new(
        surroundings: &Surroundings,
        frame: &Frame,
        own: &Env,
        exchange: &Exchange,
    ) -> Self {
        let vars = Value::named(
            surroundings
                .vars
                .iter()
                .map(|(name, it)| (name, it.clone())),
        );
        let steps = frame.steps.iter().map(|(name, outputs)| {
            let outputs = [("outputs", outputs.clone())];
            (name, Value::named(outputs))
        });
        let directory = Value::text(frame.directory.to_string_lossy());
        Self(BTreeMap::from([
            ("env", surroundings.visible_env(&[&frame.env, own])),
            ("inputs", frame.inputs.clone()),
            ("job", vars.clone()),
            ("vars", vars),
            ("steps", Value::named(steps)),
            ("func_dir", directory.clone()),
            ("step_dir", directory),
            ("work_dir", Value::text(surroundings.work_dir.as_str())),
            (
                "output_file",
                Value::text(exchange.output().to_string_lossy()),
            ),
            (
                "export_file",
                Value::text(exchange.export().to_string_lossy()),
            ),
        ]))
    }
}

impl Scope for Names {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().copied().collect()
    }
}
