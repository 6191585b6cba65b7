use crate::{Instance, Token};
use std::fmt::Debug;

/// The GitLabs of a user, with the user's token for each.
///
/// Implementations are called only when something is to be fetched, and must not prompt the user.
pub trait Accounts: Debug + Send + Sync {
    /// Returns the GitLab of the project, if it is known.
    fn own(&self) -> Option<Instance>;

    /// Returns the GitLab that a component's address starts with, by its `name`.
    fn instance(&self, name: &str) -> Option<Instance>;

    /// Returns the token for a GitLab.
    fn token(&self, instance: &Instance) -> Option<Token>;

    /// Returns the places that were searched for a token, in words for the user.
    fn places(&self, instance: &Instance) -> Vec<String>;
}

/// A user without accounts; any name is that of an `https` server.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAccounts;

impl Accounts for NoAccounts {
    fn own(&self) -> Option<Instance> {
        None
    }

    fn instance(&self, name: &str) -> Option<Instance> {
        Instance::parse(name).ok()
    }

    fn token(&self, _instance: &Instance) -> Option<Token> {
        None
    }

    fn places(&self, _instance: &Instance) -> Vec<String> {
        Vec::new()
    }
}
