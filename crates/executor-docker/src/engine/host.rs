use crate::engine::address::Address;
use crate::engine::tls::TlsFiles;
use crate::error::DockerError;
use std::fmt;
use std::time::Duration;

/// The time limits of requests, and the command of ssh.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The limit for the version of the engine. Default: 10 s.
    pub connect: Duration,
    /// The limit for the beginning of any other response. Default: 2 min.
    pub call: Duration,
    /// The ssh command. Default: `ssh`.
    pub ssh: Vec<String>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            call: Duration::from_mins(2),
            ssh: vec!["ssh".to_owned()],
        }
    }
}

/// The address of the container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DockerHost {
    /// Its address.
    pub address: Address,
    /// The TLS files, for a TCP address.
    pub tls: Option<TlsFiles>,
    /// The origin of the address.
    pub origin: HostOrigin,
}

/// The origin of an engine's address.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostOrigin {
    /// The runner's settings.
    Setting,
    /// A variable of the runner's environment.
    Variable(&'static str),
    /// A context of the docker command.
    Context(String),
    /// The default sockets.
    Default,
}

impl DockerHost {
    /// Parses an address; TLS only with the scheme `https`.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn parse(address: &str) -> Result<Self, DockerError> {
        Ok(Self {
            address: Address::parse(address)?,
            tls: None,
            origin: HostOrigin::Setting,
        })
    }

    /// Returns the same with TLS.
    pub fn with_tls(mut self, tls: TlsFiles) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Returns the TLS files of the address; `None` without TLS.
    pub(crate) fn tls_of_address(&self) -> Option<TlsFiles> {
        match &self.address {
            Address::Tcp { tls, .. } => self.tls.clone().or_else(|| {
                tls.then(|| TlsFiles {
                    directory: None,
                    verify: true,
                })
            }),
            Address::Unix(_) | Address::Ssh { .. } => None,
        }
    }
}

impl fmt::Display for DockerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}
