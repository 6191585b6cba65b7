use super::{ExplainedVariable, Location};
use executor_core::job::{Need, SchedulingKind, When};
use pipeline::rules::{ClauseVerdict, RuleOutcome};
use serde::Serialize;
use serde_json::Value;

/// The explanation of a job in one situation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The name of the job; for an instance of a `parallel` job, with its suffix.
    pub job: String,
    /// Its stage.
    pub stage: String,
    /// Its location.
    pub place: Location,
    /// Whether the pipeline includes it.
    pub is_included: bool,
    /// The reason, in one sentence without a final dot.
    pub reason: String,
    /// When it starts.
    pub when: When,
    /// The delay for `when: delayed`.
    pub start_in: Option<String>,
    /// Whether the pipeline passes if it fails.
    pub allow_failure: bool,
    /// Whether it waits for stages or for its needs.
    pub scheduling: SchedulingKind,
    /// The rules of `workflow` and their outcomes.
    pub workflow: Vec<ExplainedRule>,
    /// Its rules and their outcomes.
    pub rules: Vec<ExplainedRule>,
    /// Its `only`, given or default.
    pub only: Option<ExplainedPolicy>,
    /// Its `except`.
    pub except: Option<ExplainedPolicy>,
    /// Its keywords.
    pub fields: Vec<ExplainedField>,
    /// Its variables: first those of the file and given ones, then predefined ones.
    pub variables: Vec<ExplainedVariable>,
    /// The jobs it needs; absent if it waits for the earlier stages.
    pub needs: Option<Vec<ExplainedNeed>>,
    /// The jobs whose artifacts it fetches.
    pub dependencies: Vec<String>,
    /// Its position among the instances of a `parallel` job.
    pub parallel: Option<ExplainedParallel>,
}

/// A needed job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedNeed {
    /// The need.
    #[serde(flatten)]
    pub need: Need,
    /// Whether the pipeline includes that job.
    pub is_included: bool,
}

/// The position of a job among the instances of a `parallel` job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedParallel {
    /// The name of the `parallel` job.
    pub group: String,
    /// The number of this instance, from 1.
    pub index: u32,
    /// The number of instances.
    pub total: u32,
    /// The values of the matrix for this instance.
    pub matrix: Vec<(String, String)>,
}

/// A keyword of a job and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedField {
    /// The keyword; `artifacts:paths` for an entry of a merged mapping.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Its origin.
    pub source: FieldSource,
    /// Its location.
    pub place: Location,
}

/// The origin of a keyword.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldSource {
    /// The job itself.
    Own,
    /// The top-level key of a job that it extends, or that a reference or alias refers to.
    From(String),
    /// `default`.
    Default,
    /// A deprecated top-level keyword.
    Global,
    /// The matching rule.
    Rule,
}

/// An entry of `rules` and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedRule {
    /// Its location.
    pub place: Location,
    /// The outcome.
    pub outcome: RuleOutcome,
    /// Its conditions in the order of evaluation; without any it always matches.
    pub clauses: Vec<ClauseVerdict>,
    /// What it sets if it matches, as in the file (`when: manual`, `needs: [a]`, ...).
    pub effects: Vec<String>,
}

/// `only` or `except` of a job, and whether it includes the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedPolicy {
    /// Its location; absent for the default `only`.
    pub place: Option<Location>,
    /// Whether it includes the job.
    pub keeps: bool,
    /// Its conditions.
    pub clauses: Vec<ClauseVerdict>,
}
