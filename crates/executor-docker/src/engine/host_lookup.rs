//! Finds the container engine that this host's user means.

use crate::engine::address::Address;
use crate::engine::context;
use crate::engine::host::{DockerHost, HostOrigin};
use crate::engine::tls::TlsFiles;
use crate::error::DockerError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The default socket of Docker.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// The runner's settings of the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostSettings<'a> {
    /// `host`.
    pub host: Option<&'a str>,
    /// `tls_verify`.
    pub tls_verify: bool,
    /// `tls_cert_path`.
    pub tls_cert_path: Option<&'a Path>,
}

impl DockerHost {
    /// Finds the engine: by the settings, `DOCKER_HOST`, the context of the docker command, and the default sockets of
    /// Docker and Podman.
    ///
    /// # Errors
    ///
    /// When one of them is invalid.
    pub fn find(settings: &HostSettings<'_>) -> Result<Self, DockerError> {
        let lookup = HostLookup {
            variable: &|name| std::env::var_os(name),
            socket: &socket_at,
        };
        lookup.find(settings)
    }
}

/// The state of a socket's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Socket {
    Missing,
    NoPermission,
    Usable,
}

fn socket_at(path: &Path) -> Socket {
    match rustix::fs::access(path, rustix::fs::Access::WRITE_OK) {
        Ok(()) => Socket::Usable,
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => Socket::NoPermission,
        Err(_) => Socket::Missing,
    }
}

/// The environment of the lookup.
struct HostLookup<'a> {
    variable: &'a dyn Fn(&str) -> Option<OsString>,
    socket: &'a dyn Fn(&Path) -> Socket,
}

impl HostLookup<'_> {
    fn find(&self, settings: &HostSettings<'_>) -> Result<DockerHost, DockerError> {
        if let Some(host) = settings.host.filter(|host| !host.is_empty()) {
            let mut host = DockerHost::parse(host)?;
            if settings.tls_verify || settings.tls_cert_path.is_some() {
                host.tls = Some(TlsFiles {
                    directory: settings.tls_cert_path.map(Path::to_owned),
                    verify: settings.tls_verify,
                });
            }
            return Ok(host);
        }
        let config = self.config_dir();
        if let Some(host) = self.variable("DOCKER_HOST") {
            let verify = self.variable("DOCKER_TLS_VERIFY").is_some();
            let directory = self.variable("DOCKER_CERT_PATH").map(PathBuf::from);
            let has_tls = verify || directory.is_some();
            return Ok(DockerHost {
                address: Address::parse(&host)?,
                tls: has_tls.then(|| TlsFiles {
                    // As in the docker command.
                    directory: directory.or_else(|| config.clone()),
                    verify,
                }),
                origin: HostOrigin::Variable("DOCKER_HOST"),
            });
        }
        if let Some(config) = config {
            let name = match self.variable("DOCKER_CONTEXT") {
                Some(name) => Some(name),
                None => context::current(&config)?,
            };
            let chosen = name.map(|name| context::find(&config, &name));
            if let Some(host) = chosen.transpose()?.flatten() {
                return Ok(host);
            }
        }
        Ok(DockerHost {
            address: Address::Unix(self.default_socket()),
            tls: None,
            origin: HostOrigin::Default,
        })
    }

    /// Returns a variable unless it is empty.
    fn variable(&self, name: &str) -> Option<String> {
        let value = (self.variable)(name)?.into_string().ok()?;
        (!value.is_empty()).then_some(value)
    }

    /// Returns the docker command's directory.
    fn config_dir(&self) -> Option<PathBuf> {
        let own = self.variable("DOCKER_CONFIG").map(PathBuf::from);
        own.or_else(|| Some(PathBuf::from(self.variable("HOME")?).join(".docker")))
    }

    /// Returns the first accessible socket, or else the first that exists; Docker's before Podman's.
    fn default_socket(&self) -> PathBuf {
        let runtime_dir = self.variable("XDG_RUNTIME_DIR").map(PathBuf::from);
        let in_runtime_dir = |name: &str| runtime_dir.as_ref().map(|dir| dir.join(name));
        let candidates: Vec<PathBuf> = [
            Some(PathBuf::from(DEFAULT_SOCKET)),
            in_runtime_dir("docker.sock"),
            in_runtime_dir("podman/podman.sock"),
            Some(PathBuf::from("/run/podman/podman.sock")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let first = |state: Socket| candidates.iter().find(|path| (self.socket)(path) == state);
        let found = first(Socket::Usable).or_else(|| first(Socket::NoPermission));
        found.cloned().unwrap_or_else(|| DEFAULT_SOCKET.into())
    }
}

#[cfg(test)]
mod tests;
