use crate::token::{Role, Token, Validity};
use crate::world::World;
use std::sync::Arc;

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
