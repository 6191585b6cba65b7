use crate::{Instance, Token};
use std::fmt::Debug;

/// Which GitLabs a user has, and who he is there.
///
/// It is asked only when something is to be fetched, and must not ask the user anything.
pub trait Accounts: Debug + Send + Sync {
    /// Returns the GitLab of the project, if it is known.
    fn own(&self) -> Option<Instance>;

    /// Returns the GitLab that a component's address calls `name`, which begins it.
    fn instance(&self, name: &str) -> Option<Instance>;

    /// Returns the token for a GitLab.
    fn token(&self, instance: &Instance) -> Option<Token>;

    /// Returns where a token for it was looked for, in words for the user.
    fn places(&self, instance: &Instance) -> Vec<String>;
}

/// A user without any account, at `https` servers of all names.
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
