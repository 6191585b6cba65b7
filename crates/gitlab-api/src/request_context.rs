use crate::{Instance, TokenKind};

/// A request, for messages to the user: its GitLab, its token and its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    /// The GitLab that was requested.
    pub instance: Instance,
    /// The token that was sent: its kind, and where it was found.
    pub token: Option<(TokenKind, String)>,
    /// The places that were searched for a token, in words for the user.
    pub places: Vec<String>,
    /// What was requested, in words for the user.
    pub what: String,
    /// The role that the request needs, where a token for reading is not enough.
    pub needs: Option<&'static str>,
    /// The scope that the token needs.
    pub scope: &'static str,
}

impl RequestContext {
    pub(crate) fn needs(mut self, role: &'static str) -> Self {
        self.needs = Some(role);
        self
    }

    pub(crate) fn scope(mut self, scope: &'static str) -> Self {
        self.scope = scope;
        self
    }
}
