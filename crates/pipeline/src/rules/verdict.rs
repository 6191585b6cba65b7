use serde::Serialize;

/// What became of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// It is the first that holds, so it decided.
    Held,
    /// One of its conditions does not hold.
    Failed,
    /// Another one had decided before it.
    NotReached,
}

/// One condition and whether it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClauseVerdict {
    /// What it asks.
    pub kind: ClauseKind,
    /// The condition as the file has it.
    pub text: String,
    /// Whether it holds; absent when it was not looked at, or has no answer.
    pub holds: Option<bool>,
    /// The variables it names, with their values.
    pub values: Vec<UsedVariable>,
    /// What each comparison in it yields, with values in place of names.
    pub steps: Vec<String>,
    /// Why it holds or not, where the values do not say it: the file that fits, or what is unknown.
    pub note: Option<String>,
}

/// What a condition asks.
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

/// A variable that a condition names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsedVariable {
    /// Its name.
    pub name: String,
    /// Its value, `[MASKED]` for a secret; absent when there is no such variable.
    pub value: Option<String>,
}
