use serde::Serialize;
use std::fmt;

/// The outcome of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// It is the first that matches, so it decides.
    Held,
    /// One of its conditions does not hold.
    Failed,
    /// A condition cannot be evaluated, so there is no pipeline.
    Unknown,
    /// An earlier rule decides.
    NotReached,
}

/// One condition and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClauseVerdict {
    /// The kind of condition.
    pub kind: ClauseKind,
    /// The condition as written in the file.
    pub text: String,
    /// Whether it holds; absent when it was not or cannot be evaluated.
    pub holds: Option<bool>,
    /// Its variables with their values.
    pub values: Vec<UsedVariable>,
    /// The result of each comparison in it, with values instead of names.
    pub steps: Vec<String>,
    /// An explanation beyond the values, such as the file that matches.
    pub note: Option<String>,
}

/// The kinds of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClauseKind {
    /// An expression (`if`, `only:variables`).
    If,
    /// Changed files.
    Changes,
    /// Existing files.
    Exists,
    /// Branches, tags and kinds of pipelines (`only:refs`).
    Refs,
    /// A Kubernetes cluster.
    Kubernetes,
}

/// A variable of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsedVariable {
    /// Its name.
    pub name: String,
    /// Its value, `[MASKED]` for a secret; absent when there is no such variable.
    pub value: Option<String>,
}

impl fmt::Display for UsedVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "${} is {value:?}", self.name),
            None => write!(f, "${} is not set", self.name),
        }
    }
}
