use crate::{Asked, Instance, explain};
use std::error::Error;
use std::fmt;
use std::time::Duration;
use web::{Origin, WebError};

/// Why there is no answer.
///
/// The message says who asked, by where the token was found, and [`ApiError::help`] what the user
/// can do. Neither holds a token or what a server says without being asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ApiError {
    /// The token is refused, or one is needed (401).
    Unauthorized {
        /// Who asked for what.
        asked: Box<Asked>,
        /// What is the matter with the token.
        matter: TokenMatter,
    },
    /// The token is known and not enough (403).
    Forbidden {
        /// Who asked for what.
        asked: Box<Asked>,
        /// Scopes of which the token has none and one is needed.
        scopes: Vec<String>,
        /// What GitLab says.
        said: Option<String>,
    },
    /// It is not there, or hidden (404).
    NotFound {
        /// Who asked for what.
        asked: Box<Asked>,
        /// What is missing.
        missing: Thing,
    },
    /// GitLab does not take the request (400, 422).
    Rejected {
        /// Who asked for what.
        asked: Box<Asked>,
        /// The status.
        status: u16,
        /// What GitLab says.
        said: Option<String>,
    },
    /// There were too many requests (429).
    RateLimited {
        /// Who asked for what.
        asked: Box<Asked>,
        /// When there may be more.
        wait: Option<Duration>,
    },
    /// The server is broken or overloaded (5xx).
    Server {
        /// Who.
        instance: Box<Instance>,
        /// The status.
        status: u16,
    },
    /// What answers does not do so as GitLab does.
    BadAnswer {
        /// Who.
        instance: Box<Instance>,
        /// What is wrong with it.
        fault: Fault,
    },
    /// There is more than is taken.
    TooMuch {
        /// Who asked for what.
        asked: Box<Asked>,
        /// How much is taken.
        limit: &'static str,
    },
    /// A name that cannot be one of a project, file or branch; nobody was asked.
    Invalid {
        /// Of what.
        what: Thing,
        /// The name, with what cannot be shown escaped.
        name: String,
    },
    /// The request was not sent, or not answered.
    Web(Box<WebError>),
}

/// What is the matter with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMatter {
    /// It has ended.
    Expired,
    /// It was taken back.
    Revoked,
    /// GitLab does not say.
    Unsaid,
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    /// The project, or the right to see it.
    Project,
    /// The group, or the right to see it.
    Group,
    /// The branch, tag or commit.
    Reference,
    /// The file or folder.
    File,
    /// Something else that was asked for.
    Other,
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is the page to sign in.
    SignIn,
    /// It is a page for people.
    Page,
    /// It comes from another server, which was redirected to.
    Elsewhere(Origin),
    /// It is something that GitLab does not say.
    Nonsense(&'static str),
}

impl ApiError {
    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<String> {
        explain::help(self)
    }

    /// Returns whether it may be different next time.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::RateLimited { .. } | Self::Server { .. } => true,
            Self::Web(error) => error.is_temporary(),
            _ => false,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&explain::reason(self))
    }
}

impl Error for ApiError {}

impl From<WebError> for ApiError {
    fn from(error: WebError) -> Self {
        Self::Web(Box::new(error))
    }
}
