//! Errors of jobs on other hosts.

use executor_core::{BoxError, BuildError, CancelCause, Retryability};
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::time::Duration;

/// Why a job cannot run on a host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SshError {
    /// The settings, or `~/.ssh/config`, are invalid.
    #[error("{message}")]
    Config {
        /// The setting and what is wrong with it.
        message: String,
    },
    /// A file of the user cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The host does not answer, or not as an SSH server.
    #[error("connect to {host}")]
    Unreachable {
        /// The host and its port.
        host: String,
        /// The cause.
        source: BoxError,
    },
    /// The host did not answer in time.
    #[error("{host} did not answer within {} s while {doing}", within.as_secs())]
    Silent {
        /// The host and its port.
        host: String,
        /// What was attempted.
        doing: &'static str,
        /// The time limit.
        within: Duration,
    },
    /// The host's key is not trusted.
    #[error("{0}")]
    HostKey(Box<HostKeyError>),
    /// The host does not let the user in.
    #[error("log in to {host} as {user}: {tried}")]
    Login {
        /// The host and its port.
        host: String,
        /// The user's name there.
        user: String,
        /// What was tried, and the results.
        tried: String,
    },
    /// The host refused a channel or a command.
    #[error("{host} refused {what}")]
    Refused {
        /// The host and its port.
        host: String,
        /// What it refused.
        what: &'static str,
        /// The cause.
        source: BoxError,
    },
    /// The connection broke.
    #[error("the connection to {host} broke")]
    Broken {
        /// The host and its port.
        host: String,
        /// The cause, if the connection told one.
        source: Option<BoxError>,
    },
    /// The host lacks something that a job needs.
    #[error("{host}: {message}")]
    Host {
        /// The host and its port.
        host: String,
        /// What failed there.
        message: String,
        /// Whether a retry may help.
        retry: Retryability,
    },
    /// A step on this machine failed.
    #[error("complete a step on this machine")]
    Local(#[from] std::io::Error),
    /// The work was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

impl SshError {
    /// Returns whether another attempt may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Host { retry, .. } => *retry == Retryability::Temporary,
            Self::Config { .. }
            | Self::Read { .. }
            | Self::HostKey(_)
            | Self::Login { .. }
            | Self::Canceled(_) => false,
            _ => true,
        }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::Config {
            message: message.into(),
        }
    }
}

impl From<SshError> for BuildError {
    fn from(error: SshError) -> Self {
        match error {
            SshError::Canceled(cause) => Self::Canceled(cause),
            SshError::Config { message } => Self::config(message),
            SshError::Read { .. } | SshError::HostKey(_) | SshError::Login { .. } => Self::Config {
                message: error.to_string(),
                source: std::error::Error::source(&error).map(|source| source.to_string().into()),
            },
            error => {
                let retry = if error.is_temporary() {
                    Retryability::Temporary
                } else {
                    Retryability::Permanent
                };
                let message = error.to_string();
                let source = match error {
                    SshError::Unreachable { source, .. } | SshError::Refused { source, .. } => {
                        Some(source)
                    }
                    SshError::Broken { source, .. } => source,
                    SshError::Local(source) => Some(source.into()),
                    _ => None,
                };
                Self::System {
                    backend: "ssh",
                    message,
                    source,
                    retry,
                }
            }
        }
    }
}

/// The refusal of a host's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostKeyError {
    /// The name under which the key was looked up: `host`, or `[host]:port`.
    pub name: String,
    /// Why it is refused.
    pub reason: HostKeyReason,
    /// The type and the fingerprint of the key that the host sent.
    pub sent: Fingerprint,
    /// The keys of that name that are known, with their places.
    pub known: Vec<(Fingerprint, String)>,
    /// The file to which a trusted key would be added.
    pub file: PathBuf,
}

/// Why a host's key is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKeyReason {
    /// No key of the host is known.
    Unknown,
    /// Other keys of the host are known.
    Changed,
    /// The key is marked as revoked.
    Revoked,
}

/// The type of a key and its SHA-256 fingerprint, as `ssh-keygen -l` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// Such as `ssh-ed25519`.
    pub kind: String,
    /// `SHA256:` and base64.
    pub digest: String,
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.digest)
    }
}

impl Display for HostKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, sent, file, ..
        } = self;
        let file = file.display();
        match self.reason {
            HostKeyReason::Unknown => write!(
                f,
                "the key of {name} is not known: it sent {sent}; if that is the right key, add it to {file}, \
                 for example by connecting once with ssh, or allow new keys in the settings"
            ),
            HostKeyReason::Changed => {
                write!(f, "the key of {name} has changed: it sent {sent}, known")?;
                for (index, (known, place)) in self.known.iter().enumerate() {
                    let before = if index == 0 { " is" } else { "," };
                    write!(f, "{before} {known} ({place})")?;
                }
                f.write_str("; somebody may be intercepting the connection")
            }
            HostKeyReason::Revoked => {
                write!(f, "the key of {name} is revoked: it sent {sent}")?;
                for (_, place) in &self.known {
                    write!(f, " ({place})")?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_step_keeps_its_cause() {
        let cause = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = BuildError::from(SshError::from(cause));
        assert_eq!(
            error.chain(),
            "ssh: complete a step on this machine: no storage space"
        );
        assert!(error.is_temporary());
    }
}
