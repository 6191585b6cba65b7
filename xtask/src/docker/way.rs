//! How the tests reach their engine.

use std::fmt;
use std::process::Command;

use clap::ValueEnum;

use super::{ADDRESS, Daemon, SOCKET, Sshd};

/// A way to the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Over {
    /// A socket of this machine.
    #[default]
    Socket,
    /// A port of the loopback address, with certificates on both sides.
    Tls,
    /// A login at an sshd on the loopback address.
    Ssh,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socket => "over the socket",
            Self::Tls => "over TLS",
            Self::Ssh => "over ssh",
        })
    }
}

/// An engine with a transport to it. Both end with this; the transport ends first.
#[derive(Debug)]
pub(crate) struct Way<'d> {
    daemon: &'d Daemon,
    over: Over,
    sshd: Option<Sshd>,
}

impl<'d> Way<'d> {
    /// Opens the transport.
    ///
    /// # Errors
    ///
    /// Fails when sshd is required but missing.
    pub(crate) fn open(daemon: &'d Daemon, over: Over) -> anyhow::Result<Self> {
        let sshd = match over {
            Over::Ssh => Some(Sshd::start(daemon)?),
            Over::Socket | Over::Tls => None,
        };
        Ok(Self { daemon, over, sshd })
    }

    /// Sets the environment variables with which a command finds the engine.
    ///
    /// # Errors
    ///
    /// Fails when the search path cannot be built.
    pub(crate) fn tell(&self, command: &mut Command) -> anyhow::Result<()> {
        // The socket stays local: tests start containers through it and compare with it.
        command.env(SOCKET, self.daemon.socket());
        match (self.over, &self.sshd) {
            (Over::Ssh, Some(sshd)) => {
                command.env(ADDRESS, sshd.address());
                command.env("PATH", sshd.search_path()?);
            }
            (Over::Tls, _) => {
                command.env(ADDRESS, format!("tcp://127.0.0.1:{}", self.daemon.port()));
                command.env("DOCKER_TLS_VERIFY", "1");
                command.env("DOCKER_CERT_PATH", self.daemon.certificates());
            }
            _ => {
                command.env(ADDRESS, self.daemon.address());
            }
        }
        Ok(())
    }
}
