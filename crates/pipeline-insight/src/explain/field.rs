use super::Place;
use serde::Serialize;
use serde_json::Value;

/// One keyword of a job and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedField {
    /// The keyword; `artifacts:paths` for a part of a mapping that was put together.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// How the job came to it.
    pub source: FieldSource,
    /// Where it was written.
    pub place: Place,
}

/// How a job came to a keyword.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldSource {
    /// The job says it itself.
    Own,
    /// A job it extends says it, or one a reference or an anchor points to: the top-level key.
    From(String),
    /// `default` says it for all jobs.
    Default,
    /// An old top-level keyword says it for all jobs.
    Global,
    /// The rule that held says it.
    Rule,
}
