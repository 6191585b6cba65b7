use super::{ExplainedField, ExplainedPolicy, ExplainedRule, ExplainedVariable, Place};
use executor_core::job::{Need, SchedulingKind, When};
use serde::Serialize;

/// All there is to say of one job in one situation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The job, with what `parallel` adds to its name.
    pub job: String,
    /// Its stage.
    pub stage: String,
    /// Where its name stands.
    pub place: Place,
    /// Whether the pipeline has it.
    pub is_included: bool,
    /// Why, in one sentence without a final dot.
    pub reason: String,
    /// When it starts.
    pub when: When,
    /// The delay that goes with `when: delayed`.
    pub start_in: Option<String>,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: bool,
    /// Whether it waits for stages or for its needs.
    pub scheduling: SchedulingKind,
    /// The rules of `workflow` and what became of them.
    pub workflow: Vec<ExplainedRule>,
    /// Its rules and what became of them.
    pub rules: Vec<ExplainedRule>,
    /// Its `only`, given or by itself.
    pub only: Option<ExplainedPolicy>,
    /// Its `except`.
    pub except: Option<ExplainedPolicy>,
    /// Its keywords.
    pub fields: Vec<ExplainedField>,
    /// Its variables: those of the file and given ones first, then predefined ones.
    pub variables: Vec<ExplainedVariable>,
    /// The jobs it needs; absent when it waits for the earlier stages.
    pub needs: Option<Vec<ExplainedNeed>>,
    /// The jobs whose artifacts it fetches.
    pub dependencies: Vec<String>,
    /// What `parallel` made of it.
    pub parallel: Option<ExplainedParallel>,
}

/// A job that another one needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedNeed {
    /// The need.
    #[serde(flatten)]
    pub need: Need,
    /// Whether the pipeline has that job.
    pub is_included: bool,
}

/// Which of the jobs that `parallel` makes this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedParallel {
    /// The name they have together.
    pub group: String,
    /// Which of them, from 1.
    pub index: u32,
    /// How many there are.
    pub total: u32,
    /// Its share of the matrix.
    pub matrix: Vec<(String, String)>,
}
