use crate::world::World;
use std::sync::Arc;

/// What somebody may do in projects and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads no code of private projects.
    Guest,
    /// Reads code.
    Reporter,
    /// Checks pipelines.
    Developer,
    /// Reads variables.
    Maintainer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Access,
    OAuth,
    Job,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validity {
    Active,
    Expired,
    Revoked,
}

/// A token that the server knows.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) value: String,
    pub(crate) kind: Kind,
    pub(crate) scopes: Vec<String>,
    pub(crate) validity: Validity,
    pub(crate) role: Role,
    pub(crate) is_admin: bool,
    /// The only projects and groups that it may see besides public ones.
    pub(crate) only: Option<Vec<String>>,
}

/// A token in the server, to say more of it. It belongs to a maintainer of everything.
#[derive(Debug, Clone)]
pub struct TokenHandle {
    pub(crate) world: Arc<World>,
    pub(crate) value: String,
}

impl TokenHandle {
    /// Makes its owner no more than this, everywhere.
    pub fn role(self, role: Role) -> Self {
        self.change(|token| token.role = role)
    }

    /// Makes its owner an administrator.
    pub fn admin(self) -> Self {
        self.change(|token| token.is_admin = true)
    }

    /// Limits it to these projects and groups, besides what is public.
    pub fn only(self, paths: &[&str]) -> Self {
        self.change(|token| token.only = Some(paths.iter().map(|it| (*it).to_owned()).collect()))
    }

    /// Ends its time.
    pub fn expire(self) -> Self {
        self.change(|token| token.validity = Validity::Expired)
    }

    /// Takes it back.
    pub fn revoke(self) -> Self {
        self.change(|token| token.validity = Validity::Revoked)
    }

    fn change(self, change: impl FnOnce(&mut Token)) -> Self {
        let mut state = self.world.state();
        let mut tokens = state.tokens.iter_mut();
        if let Some(token) = tokens.find(|token| token.value == self.value) {
            change(token);
        }
        drop(state);
        self
    }
}

impl Token {
    /// Returns whether it shows this project or group, whose path is given.
    pub(crate) fn sees(&self, path: &str) -> bool {
        self.only.as_ref().is_none_or(|only| {
            let path = path.to_lowercase();
            only.iter()
                .map(|it| it.to_lowercase())
                .any(|it| path == it || path.starts_with(&format!("{it}/")))
        })
    }
}
