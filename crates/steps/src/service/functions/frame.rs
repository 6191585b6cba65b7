//! The names that expressions of a function can use.

use crate::language::Value;
use crate::language::expression::Scope;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::exchange::Exchange;

/// Environment variables, whose values may be secrets.
pub(super) type Env = BTreeMap<String, Value>;

/// A running function.
#[derive(Debug)]
pub(super) struct Frame {
    /// The directory of its file.
    pub(super) directory: PathBuf,
    /// The fetched tree that contains it: its relative references cannot leave the tree.
    pub(super) tree: Option<PathBuf>,
    /// A struct.
    pub(super) inputs: Value,
    /// The variables of the enclosing steps, outer ones first, and of the caller.
    pub(super) env: Env,
    /// The outputs of its finished steps.
    pub(super) steps: BTreeMap<String, Value>,
    pub(super) exchange: Exchange,
    /// The depth of nesting.
    pub(super) depth: usize,
}

/// The variables that all functions of a request share.
#[derive(Debug)]
pub(super) struct SharedVariables {
    /// The variables of the runner and of the environment.
    pub(super) env: Vec<(OsString, OsString)>,
    /// The job's variables.
    pub(super) vars: Env,
    /// The exports of finished steps.
    pub(super) exports: BTreeMap<String, String>,
    pub(super) work_dir: String,
}

impl SharedVariables {
    /// Returns the environment of a process, without the variables of its function.
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

    /// Returns the environment as expressions see it.
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

/// The names that expressions can use in one place.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<&'static str, Value>);

impl Names {
    /// Returns the names for expressions of a function. `own` are its variables, over the environment of its frame.
    pub(super) fn new(
        variables: &SharedVariables,
        frame: &Frame,
        own: &Env,
        exchange: &Exchange,
    ) -> Self {
        let vars = Value::named(variables.vars.iter().map(|(name, it)| (name, it.clone())));
        let steps = frame.steps.iter().map(|(name, outputs)| {
            let outputs = [("outputs", outputs.clone())];
            (name, Value::named(outputs))
        });
        let directory = Value::text(frame.directory.to_string_lossy());
        Self(BTreeMap::from([
            ("env", variables.visible_env(&[&frame.env, own])),
            ("inputs", frame.inputs.clone()),
            ("job", vars.clone()),
            ("vars", vars),
            ("steps", Value::named(steps)),
            ("func_dir", directory.clone()),
            ("step_dir", directory),
            ("work_dir", Value::text(variables.work_dir.as_str())),
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
