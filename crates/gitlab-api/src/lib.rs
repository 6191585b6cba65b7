//! A client for the parts of GitLab's REST API that a user's program needs.
//!
//! [`Instance`] is a GitLab, [`Token`] authenticates a user there, and [`Accounts`] is the port through which a
//! program supplies its user's GitLabs and tokens. [`Client`] sends requests to one of them. An [`ApiError`] tells
//! the user why a request failed, and what to do.

mod account;
mod accounts;
mod address;
mod answer;
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
mod request_context;
pub mod runner;
mod token;
mod variables;

pub use account::{TokenInfo, User, Version};
pub use accounts::{Accounts, NoAccounts};
pub use answer::Fresh;
pub use client::Client;
pub use error::{ApiError, Fault, Thing, TokenMatter};
pub use files::TreeEntry;
pub use instance::{Instance, InstanceError};
pub use lint::{LintAnswer, LintInclude, LintRequest};
pub use lint_job::{LintJob, LintNeed};
pub use project::{Namespace, Project, groups_of};
pub use refs::{Branch, Commit, Tag};
pub use request_context::RequestContext;
pub use token::{Token, TokenKind};
pub use variables::Variable;
