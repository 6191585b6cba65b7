//! Why a job is in a pipeline or not, and where everything it has comes from.
//!
//! An [`Explanation`] is plain data, which a terminal or a program can show: what `workflow` decided,
//! each rule with its conditions, values and verdict, each keyword with the place that gave it, and
//! each variable with its origin and what it hides. Values of secrets are not in it.

mod explainer;
mod field;
mod fields;
mod job;
mod place;
mod tree;
mod variable;
mod variables;
mod verdict;

pub use explainer::Explainer;
pub use field::{ExplainedField, FieldSource};
pub use job::{ExplainedNeed, ExplainedParallel, Explanation};
pub use pipeline::rules::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
pub use place::Place;
pub use variable::{
    ExplainedVariable, ExplainedVariables, LeftOutReason, LeftOutVariable, VariableSource,
};
pub use verdict::{ExplainedPolicy, ExplainedRule};
