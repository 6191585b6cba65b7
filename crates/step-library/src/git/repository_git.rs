use super::address::Address;
use super::refusal::refusal;
use crate::error::Error;
use ::git::{Git, GitError};
use process::NeverStop;
use std::time::Duration;
use tokio::time::Instant;

/// The most bytes git may print.
pub(super) const MAX_OUTPUT: usize = 16 << 20;

/// Git for one repository, until a deadline.
#[derive(Debug)]
pub(super) struct RepositoryGit<'a> {
    pub(super) git: Git<'a>,
    pub(super) address: &'a Address,
    pub(super) deadline: Instant,
    /// The time until the deadline at the start, for the message.
    pub(super) allowed: Duration,
}

impl RepositoryGit<'_> {
    /// Runs git and returns its output.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends git and everything it started.
    pub(super) async fn output(&self, args: &[&str]) -> Result<String, GitError> {
        let output = self.git.output(args, &NeverStop).await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Returns the address to try instead when the server redirects: many know the same repository with `.git`.
    pub(super) fn redirected<T>(&self, result: &Result<T, GitError>) -> Option<String> {
        let is_redirect = matches!(result, Err(error) if error.is_redirect());
        is_redirect.then(|| self.address.with_suffix()).flatten()
    }

    /// Returns the error for a failure of git that the server causes.
    pub(super) fn explain(&self, error: GitError) -> Error {
        match error {
            GitError::Failed { stderr, .. } => refusal(&stderr, self.address),
            GitError::Deadline { .. } => Error::Late {
                what: self.address.url.clone(),
                allowed: self.allowed,
            },
            GitError::OutputTooLong { limit, .. } => Error::TooLarge {
                what: format!("git's output for {}", self.address.url),
                limit: limit as u64,
                unit: "bytes",
            },
            error => Error::Git(error),
        }
    }
}
