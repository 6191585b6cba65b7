use crate::{Instance, RequestContext, explain};
use std::error::Error;
use std::fmt;
use std::time::Duration;
use web::{Origin, WebError};

/// Why a request to GitLab failed.
///
/// The message names the token by the place where it was found, and [`ApiError::help`] says what the user
/// can do. Neither contains a token or unrequested text of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ApiError {
    /// The token was refused, or one is required (401).
    Unauthorized {
        /// The request.
        context: Box<RequestContext>,
        /// Why the token was refused.
        matter: TokenMatter,
    },
    /// The token is valid but not sufficient (403).
    Forbidden {
        /// The request.
        context: Box<RequestContext>,
        /// The scopes of which the token needs one and has none.
        scopes: Vec<String>,
        /// GitLab's message.
        said: Option<String>,
    },
    /// The thing does not exist or is hidden (404).
    NotFound {
        /// The request.
        context: Box<RequestContext>,
        /// The missing thing.
        missing: Thing,
    },
    /// GitLab rejected the request (400, 422).
    Rejected {
        /// The request.
        context: Box<RequestContext>,
        /// The status.
        status: u16,
        /// GitLab's message.
        said: Option<String>,
    },
    /// There were too many requests (429).
    RateLimited {
        /// The request.
        context: Box<RequestContext>,
        /// How long to wait before the next request.
        wait: Option<Duration>,
    },
    /// The server is broken or overloaded (5xx).
    Server {
        /// The GitLab.
        instance: Box<Instance>,
        /// The status.
        status: u16,
    },
    /// The response is not one that GitLab gives.
    BadAnswer {
        /// The GitLab.
        instance: Box<Instance>,
        /// What is wrong with the response.
        fault: Fault,
    },
    /// The list exceeds the limit.
    TooMuch {
        /// The request.
        context: Box<RequestContext>,
        /// The limit, in words.
        limit: &'static str,
    },
    /// The name is not a valid project, file or branch name; no request was sent.
    Invalid {
        /// What the name is for.
        what: Thing,
        /// The name, with unprintable characters escaped.
        name: String,
    },
    /// The request could not be sent, or got no response.
    Web(Box<WebError>),
}

/// Why a token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenMatter {
    /// It expired.
    Expired,
    /// It was revoked.
    Revoked,
    /// GitLab does not give a reason.
    Unsaid,
}

/// The subject of an error.
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
    /// Anything else that was requested.
    Other,
}

/// What is wrong with a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is the sign-in page.
    SignIn,
    /// It is an HTML page.
    Page,
    /// It comes from another server, by a redirect.
    Elsewhere(Origin),
    /// It is not a response that GitLab gives.
    Nonsense(&'static str),
}

impl ApiError {
    /// Returns what the user can do, if there is anything.
    pub fn help(&self) -> Option<String> {
        explain::help(self)
    }

    /// Returns whether another attempt can succeed.
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
