use super::Place;
use crate::context::{GivenSource, Level};
use serde::Serialize;

/// One variable of a job and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedVariable {
    /// Its name.
    pub name: String,
    /// Its value before references in it are replaced; `[MASKED]` for a secret.
    pub value: String,
    /// Its value with references replaced, where that is another one.
    pub expanded: Option<String>,
    /// Whether references in it are left as they are.
    pub is_raw: bool,
    /// Whether the value is written to a file whose path the job gets.
    pub is_file: bool,
    /// Whether the value is hidden in logs.
    pub is_masked: bool,
    /// Where it comes from.
    pub source: VariableSource,
    /// The variables of the same name that it wins over, the strongest first.
    pub shadows: Vec<VariableSource>,
}

/// Where a variable comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VariableSource {
    /// It is one of GitLab's own.
    Predefined,
    /// The top level of the file defines it.
    Global {
        /// Where.
        place: Place,
    },
    /// The rule of `workflow` that held defines it.
    WorkflowRule {
        /// Where.
        place: Place,
    },
    /// The job defines it, itself or by what it extends.
    Job {
        /// Where.
        place: Place,
    },
    /// It is the job's share of `parallel:matrix`.
    Matrix {
        /// Where.
        place: Place,
    },
    /// The rule that held defines it.
    Rule {
        /// Where.
        place: Place,
    },
    /// It was given from outside the file.
    Given {
        /// Where it belongs.
        level: Level,
        /// Where it was given.
        source: GivenSource,
    },
}
