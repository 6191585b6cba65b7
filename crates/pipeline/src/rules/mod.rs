//! Rules, and the older `only` and `except`: their content and their evaluation.
//!
//! [`first_match`] scales to thousands of jobs: it stops at the first rule that matches, reads
//! variables through [`Variables`](crate::expression::Variables), and evaluates each condition on
//! files once ([`FileConditions`]). [`examine`] evaluates every condition and keeps the details, to
//! explain the result.

mod error;
mod evaluation;
mod file_conditions;
mod file_list;
mod file_verdict;
mod policy;
mod policy_verdict;
mod refs;
mod rule;
mod verdict;

pub use error::RuleError;
pub use evaluation::{RuleContext, RuleVerdict, examine, first_match};
pub use file_conditions::FileConditions;
pub use file_verdict::FileVerdict;
pub use policy::{Policy, RefPattern};
pub use rule::{AutoCancel, Changes, Exists, OnJobFailure, OnNewCommit, Rule};
pub use verdict::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
