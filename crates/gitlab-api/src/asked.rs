use crate::{Instance, TokenKind};

/// Who asked whom for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Whom.
    pub instance: Instance,
    /// With which token: its kind, and where it was found.
    pub token: Option<(TokenKind, String)>,
    /// Where a token was looked for, in words for the user.
    pub places: Vec<String>,
    /// For what, in words for the user.
    pub what: String,
    /// What role it takes, where a token for reading is not enough.
    pub needs: Option<&'static str>,
    /// What a token must be for.
    pub scope: &'static str,
}

impl Asked {
    pub(crate) fn needs(mut self, role: &'static str) -> Self {
        self.needs = Some(role);
        self
    }

    pub(crate) fn scope(mut self, scope: &'static str) -> Self {
        self.scope = scope;
        self
    }
}
