use crate::engine::address::Address;
use crate::engine::tls::TlsFiles;
use crate::error::DockerError;
use std::fmt;
use std::time::Duration;

/// How the engine is reached, and how long is waited for it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EngineOptions {
    /// Until it has said who it is. Default: 10 s.
    pub connect: Duration,
    /// Until it begins to answer any other call. Default: 2 min.
    pub call: Duration,
    /// The command that logs in to other hosts. Default: `ssh`.
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

/// Where the container engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DockerHost {
    /// Its address.
    pub address: Address,
    /// How TLS is spoken with it; where the address is a port.
    pub tls: Option<TlsFiles>,
    /// Who says so.
    pub origin: HostOrigin,
}

/// Who says where the engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostOrigin {
    /// The runner's settings.
    Setting,
    /// A variable of the runner's environment.
    Variable(&'static str),
    /// A context of the docker command.
    Context(String),
    /// Nobody: it is where such sockets are.
    Default,
}

impl DockerHost {
    /// Returns the engine at an address, without TLS unless the address says so.
    ///
    /// # Errors
    ///
    /// Fails when it is no address.
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

    /// Returns how TLS is spoken, or `None` where it is not.
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
