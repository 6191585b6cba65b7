use executor_core::job::SecretString;
use web::Credential;

/// What tells a GitLab who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// What kind of token it is, which decides how it is sent.
    pub kind: TokenKind,
    /// The token.
    pub value: SecretString,
    /// Where it was found, in words for its owner: `GITLAB_TOKEN`, `~/.netrc`.
    pub found: String,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A personal, group or project access token.
    Access,
    /// A token of OAuth.
    OAuth,
    /// The token of a running job.
    Job,
}

impl Token {
    /// Returns the header that carries it.
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
