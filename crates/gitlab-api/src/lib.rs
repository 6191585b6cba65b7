//! GitLab's REST API as a user's program needs it.
//!
//! [`Instance`] is a GitLab somewhere, [`Token`] tells it who asks, and [`Accounts`] is the port
//! through which a program says which GitLabs and tokens its user has. [`Client`] asks one of them;
//! why there is no answer, an [`ApiError`] says in words for the user, with what helps.

mod account;
mod accounts;
mod address;
mod answer;
mod asked;
mod client;
mod error;
mod explain;
mod files;
mod instance;
mod lint;
mod lint_job;
mod page;
mod project;
mod protected;
mod refs;
mod token;
mod variables;

pub use account::{TokenInfo, User, Version};
pub use accounts::{Accounts, NoAccounts};
pub use answer::Fresh;
pub use asked::Asked;
pub use client::Client;
pub use error::{ApiError, Fault, Thing, TokenMatter};
pub use files::TreeEntry;
pub use instance::{Instance, InstanceError};
pub use lint::{LintAnswer, LintInclude, LintRequest};
pub use lint_job::{LintJob, LintNeed};
pub use project::{Namespace, Project, groups_of};
pub use refs::{Branch, Commit, Tag};
pub use token::{Token, TokenKind};
pub use variables::Variable;
