//! Why a job is included in a pipeline or not, and the origins of its keywords and variables.
//!
//! An [`Explanation`] is plain data: the decision of `workflow`, each rule with its conditions,
//! values and outcome, each keyword with its location, and each variable with its origin and the
//! values it overrides. It contains no values of secrets.

mod explainer;
mod fields;
mod job;
mod tree;
mod variable;
mod variables;

pub use explainer::Explainer;
pub use job::{
    ExplainedField, ExplainedNeed, ExplainedParallel, ExplainedPolicy, ExplainedRule, Explanation,
    FieldSource,
};
pub use pipeline::rules::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
pub use tree::Location;
pub use variable::{
    ExplainedVariable, ExplainedVariables, LeftOutReason, LeftOutVariable, VariableSource,
};
