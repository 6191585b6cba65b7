use executor_core::job::SecretString;
use web::Credential;

/// Authenticates a user to a GitLab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The kind, which decides the header it is sent in.
    pub kind: TokenKind,
    /// The token.
    pub value: SecretString,
    /// The place where it was found, in words for the user: `GITLAB_TOKEN`, `~/.netrc`.
    pub found: String,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A personal, group or project access token.
    Access,
    /// An OAuth token.
    OAuth,
    /// The token of a running job.
    Job,
}

impl Token {
    /// Returns the header that carries the token.
    pub fn credential(&self) -> Credential {
        let text = self.value.expose();
        match self.kind {
            TokenKind::Access => Credential {
                header: "private-token",
                value: self.value.clone(),
            },
            TokenKind::OAuth => Credential {
                header: "authorization",
                value: SecretString::new(format!("Bearer {text}")),
            },
            TokenKind::Job => Credential {
                header: "job-token",
                value: self.value.clone(),
            },
        }
    }
}
