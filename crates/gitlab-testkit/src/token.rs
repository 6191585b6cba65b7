use crate::world::World;
use std::sync::Arc;

/// The role of a user in projects and groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Cannot read the code of private projects.
    Guest,
    /// Can read code.
    Reporter,
    /// Can lint pipelines.
    Developer,
    /// Can read variables.
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

/// A token known to the server.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) value: String,
    pub(crate) kind: Kind,
    pub(crate) scopes: Vec<String>,
    pub(crate) validity: Validity,
    pub(crate) role: Role,
    pub(crate) is_admin: bool,
    /// The projects and groups it can see besides public ones; `None` means all.
    pub(crate) only: Option<Vec<String>>,
}

/// A token on the server, for further settings. By default a maintainer of everything owns it.
#[derive(Debug, Clone)]
pub struct TokenHandle {
    pub(crate) world: Arc<World>,
    pub(crate) value: String,
}

impl TokenHandle {
    /// Limits its owner to this role everywhere.
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

    /// Marks the token as expired.
    pub fn expire(self) -> Self {
        self.change(|token| token.validity = Validity::Expired)
    }

    /// Revokes the token.
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
    /// Returns whether it can see the project or group at `path`.
    pub(crate) fn sees(&self, path: &str) -> bool {
        self.only.as_ref().is_none_or(|only| {
            let path = path.to_lowercase();
            only.iter()
                .map(|it| it.to_lowercase())
                .any(|it| path == it || path.starts_with(&format!("{it}/")))
        })
    }
}
