use super::Place;
use pipeline::rules::{ClauseVerdict, RuleOutcome};
use serde::Serialize;

/// One entry of `rules` and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedRule {
    /// Where it stands.
    pub place: Place,
    /// Whether it decided.
    pub outcome: RuleOutcome,
    /// Its conditions in the order in which they are looked at; none: it always holds.
    pub clauses: Vec<ClauseVerdict>,
    /// What it sets when it holds, as the file has it (`when: manual`, `needs: [a]`, ...).
    pub effects: Vec<String>,
}

/// `only` or `except` of a job, and whether it keeps the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedPolicy {
    /// Where it stands; absent for the `only` that jobs have by themselves.
    pub place: Option<Place>,
    /// Whether it lets the job in.
    pub keeps: bool,
    /// Its parts.
    pub clauses: Vec<ClauseVerdict>,
}
