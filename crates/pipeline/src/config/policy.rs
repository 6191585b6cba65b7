use crate::rules::Policy;
use crate::source::Span;
use serde_json::Value;

/// `only` or `except` of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyKeyword {
    /// Where it stands.
    pub span: Span,
    /// What it says.
    pub policy: Policy,
    /// The same as it was written, a list as `refs`.
    pub written: Value,
}
