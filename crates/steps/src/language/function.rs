//! A function as described by its file `func.yml`, formerly `step.yml`.

use super::expression::Template;
use super::reference::Reference;
use super::value::{Value, ValueType};
use std::collections::BTreeMap;

/// A function: its inputs and outputs, and its action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Function {
    /// The inputs.
    pub inputs: BTreeMap<String, Declared>,
    /// The outputs.
    pub outputs: Outputs,
    /// Variables for its process, or for all its steps.
    pub env: BTreeMap<String, Template>,
    /// The action.
    pub action: Action,
}

/// The declaration of an input or output.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The type.
    pub value_type: ValueType,
    /// The default; without one, a value is required.
    pub default: Option<Value>,
    /// Whether it may be a secret, and is treated as one.
    pub is_sensitive: bool,
}

/// The outputs of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Outputs {
    /// Declared values.
    Declared(BTreeMap<String, Declared>),
    /// The outputs of one of its steps, or the result that its process writes.
    Delegated,
}

/// The action of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Runs a program.
    Exec(Exec),
    /// Runs other steps in order.
    Run(Sequence),
}

/// A program to run, without a shell.
#[derive(Debug, Clone, PartialEq)]
pub struct Exec {
    /// The program and its arguments.
    pub command: Vec<Template>,
    /// The working directory, by default that of the request.
    pub work_dir: Option<Template>,
}

/// Steps that run in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sequence {
    /// The steps.
    pub steps: Vec<Call>,
    /// The outputs of the function.
    pub outputs: BTreeMap<String, Argument>,
    /// The step whose outputs are those of the function.
    pub delegate: Option<String>,
}

/// A step of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The name, by which later steps refer to its outputs.
    pub name: String,
    /// The script or function.
    pub target: Target,
    /// The inputs.
    pub inputs: BTreeMap<String, Argument>,
    /// Variables for this step, over those of the function.
    pub env: BTreeMap<String, Template>,
}

/// The script or function of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A shell script.
    Script(Template),
    /// A function in another file.
    Function(Reference),
}

/// A value that may contain expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A value without expressions.
    Plain(Value),
    /// A string with expressions.
    Text(Template),
    /// A list.
    Array(Vec<Argument>),
    /// Named values.
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
