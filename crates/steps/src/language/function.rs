//! A step as its file describes it: `func.yml`, or `step.yml` as it was called before.

use super::expression::Template;
use super::reference::Reference;
use super::value::{Value, ValueType};
use std::collections::BTreeMap;

/// What a step takes and gives, and what it does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Function {
    /// What it takes.
    pub inputs: BTreeMap<String, Declared>,
    /// What it gives.
    pub outputs: Outputs,
    /// Set for its process, or for all its steps.
    pub env: BTreeMap<String, Template>,
    /// What it does.
    pub action: Action,
}

/// A value that a step takes or gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Its type.
    pub value_type: ValueType,
    /// What it is when nothing is given; without it something must be.
    pub default: Option<Value>,
    /// Whether it may be a secret, and is taken for one.
    pub is_sensitive: bool,
}

/// What a step gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Outputs {
    /// Values of these names.
    Declared(BTreeMap<String, Declared>),
    /// What one of its steps gives, or what its process says as a whole.
    Delegated,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Runs a program.
    Exec(Exec),
    /// Runs other steps, one after the other.
    Run(Sequence),
}

/// A program to run, without a shell.
#[derive(Debug, Clone, PartialEq)]
pub struct Exec {
    /// The program and its arguments.
    pub command: Vec<Template>,
    /// Where it runs; by default in the directory of the request.
    pub work_dir: Option<Template>,
}

/// Steps that run one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sequence {
    /// The steps.
    pub steps: Vec<Call>,
    /// The values that it gives.
    pub outputs: BTreeMap<String, Argument>,
    /// The step whose outputs are its own.
    pub delegate: Option<String>,
}

/// A step of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its name, by which later steps refer to its outputs.
    pub name: String,
    /// What is run.
    pub target: Target,
    /// What it is given.
    pub inputs: BTreeMap<String, Argument>,
    /// Set for it, over what the sequence sets.
    pub env: BTreeMap<String, Template>,
}

/// What a step of a sequence runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Lines for a shell.
    Script(Template),
    /// A function that is described elsewhere.
    Function(Reference),
}

/// A value with expressions in its texts.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A value without expressions.
    Plain(Value),
    /// A text with expressions.
    Text(Template),
    /// A list.
    Array(Vec<Argument>),
    /// Values with names.
    Struct(BTreeMap<String, Argument>),
}

impl Default for Outputs {
    fn default() -> Self {
        Self::Declared(BTreeMap::new())
    }
}

impl Default for Action {
    fn default() -> Self {
        Self::Run(Sequence::default())
    }
}
