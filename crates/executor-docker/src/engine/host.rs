use crate::engine::address::Address;
use crate::error::DockerError;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where Docker listens when nobody says otherwise.
const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// Where the container engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DockerHost {
    /// Its address.
    pub address: Address,
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

/// What the runner's settings say of the engine.
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
    /// Returns the engine at an address.
    ///
    /// # Errors
    ///
    /// Fails when it is no address.
    pub fn parse(address: &str) -> Result<Self, DockerError> {
        Ok(Self {
            address: Address::parse(address)?,
            origin: HostOrigin::Setting,
        })
    }

    /// Finds the engine: by the settings, `DOCKER_HOST`, the context of the docker command, and where
    /// the sockets of Docker and Podman are.
    ///
    /// # Errors
    ///
    /// Fails when what they say cannot be.
    pub fn find(settings: &HostSettings<'_>) -> Result<Self, DockerError> {
        find_in(settings, &|name| std::env::var_os(name), &|path| {
            path.exists()
        })
    }
}

fn find_in(
    settings: &HostSettings<'_>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    exists: &dyn Fn(&Path) -> bool,
) -> Result<DockerHost, DockerError> {
    if let Some(host) = settings.host.filter(|host| !host.is_empty()) {
        return DockerHost::parse(host);
    }
    let word = |name| variable(name).and_then(|value| value.into_string().ok());
    if let Some(host) = word("DOCKER_HOST").filter(|host| !host.is_empty()) {
        let address = Address::parse(&host)?;
        let origin = HostOrigin::Variable("DOCKER_HOST");
        return Ok(DockerHost { address, origin });
    }
    let runtime_dir = variable("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty());
    let socket = default_socket(runtime_dir.map(PathBuf::from).as_deref(), exists);
    Ok(DockerHost {
        address: Address::Unix(socket),
        origin: HostOrigin::Default,
    })
}

/// Returns the first socket that is there, Docker's before Podman's.
fn default_socket(runtime_dir: Option<&Path>, exists: &dyn Fn(&Path) -> bool) -> PathBuf {
    let in_runtime_dir = |name: &str| runtime_dir.map(|dir| dir.join(name));
    let candidates = [
        Some(PathBuf::from(DEFAULT_SOCKET)),
        in_runtime_dir("docker.sock"),
        in_runtime_dir("podman/podman.sock"),
        Some(PathBuf::from("/run/podman/podman.sock")),
    ];
    let found = candidates.into_iter().flatten().find(|path| exists(path));
    found.unwrap_or_else(|| DEFAULT_SOCKET.into())
}

impl fmt::Display for DockerHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}
