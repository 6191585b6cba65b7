//! Rules, and the older `only` and `except`: what they say, and whether they hold.
//!
//! [`first_match`] is for thousands of jobs: it stops at the first rule that holds, reads variables
//! through [`Variables`](crate::expression::Variables), and asks what files changed or exist once
//! for all jobs that ask the same ([`FileAnswers`]). [`examine`] looks at every condition and keeps
//! what it saw, for people who ask why.

mod answers;
mod context;
mod error;
mod evaluate;
mod examine;
mod file_list;
mod file_verdict;
mod policy;
mod policy_verdict;
mod refs;
mod rule;
mod verdict;

pub use answers::FileAnswers;
pub use context::RuleContext;
pub use error::RuleError;
pub use evaluate::first_match;
pub use examine::{RuleVerdict, examine};
pub use file_verdict::FileVerdict;
pub use policy::{Policy, RefPattern};
pub use rule::{AutoCancel, Changes, Exists, OnJobFailure, OnNewCommit, Rule};
pub use verdict::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
