use crate::engine::connector::Connector;
use crate::engine::host::{DockerHost, EngineOptions};
use crate::engine::transport::Transport;
use crate::engine::version::{ApiVersion, EngineVersion};
use crate::error::DockerError;
use bollard::models::SystemInfo;
use bollard::{BollardRequest, Docker};
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A connected container engine. Cheap to clone.
///
/// [`api`](Self::api) is the client of `bollard`; [`call`](Self::call) adds a deadline to a request and translates its
/// error.
#[derive(Clone)]
pub struct Engine {
    api: Docker,
    shared: Arc<Shared>,
}

struct Shared {
    transport: Transport,
    host: DockerHost,
    version: EngineVersion,
    options: EngineOptions,
}

impl Engine {
    /// Connects to an engine and agrees on a version of the API with it.
    ///
    /// # Errors
    ///
    /// When the engine cannot be reached, does not answer in time, or is too old.
    pub async fn connect(host: &DockerHost) -> Result<Self, DockerError> {
        Self::connect_with(host, EngineOptions::default()).await
    }

    /// As [`connect`](Self::connect), with these options.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_with(
        host: &DockerHost,
        options: EngineOptions,
    ) -> Result<Self, DockerError> {
        let connector = Connector::new(host, &options)?;
        let transport = Transport::new(connector.clone());
        let first = docker(&transport, ApiVersion::OLDEST, options.connect)?;
        let answer = tokio::time::timeout(options.connect, first.version()).await;
        let answer = answer.unwrap_or(Err(bollard::errors::Error::RequestTimeoutError));
        let answer = answer.map_err(|error| {
            let error_output = connector.error_output();
            unreachable(host, &options, error_output, &error)
        })?;
        let version = EngineVersion::of(answer)?;
        transport.set_version(version.api);
        Ok(Self {
            api: docker(&transport, version.api, options.call)?,
            shared: Arc::new(Shared {
                transport,
                host: host.clone(),
                version,
                options,
            }),
        })
    }

    /// Returns the client of its API.
    pub fn api(&self) -> &Docker {
        &self.api
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.shared.transport
    }

    /// Returns its address.
    pub fn host(&self) -> &DockerHost {
        &self.shared.host
    }

    /// Returns whether it is certainly on this host, because its socket is.
    pub fn is_local(&self) -> bool {
        self.shared.host.address.is_local()
    }

    /// Returns whether it may create missing mount sources, so that a mount does not tell whether it sees this host's files:
    /// Podman does, and may be on another host.
    pub fn may_make_sources(&self) -> bool {
        self.version().name == "Podman" && !self.is_local()
    }

    /// Returns its name and version.
    pub fn version(&self) -> &EngineVersion {
        &self.shared.version
    }

    /// Requests its settings and its state.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn info(&self) -> Result<SystemInfo, DockerError> {
        self.call("read the state of the container engine", self.api.info())
            .await
    }

    /// Waits for a response within the time limit of the options; `doing` names the operation in the error.
    ///
    /// Not for requests without a limit: waiting for a container, pulls, streams.
    ///
    /// # Errors
    ///
    /// When the request fails, or has no response in time.
    pub async fn call<T>(
        &self,
        doing: impl Into<String>,
        answer: impl Future<Output = Result<T, bollard::errors::Error>>,
    ) -> Result<T, DockerError> {
        let after = self.shared.options.call;
        match tokio::time::timeout(after, answer).await {
            Ok(Err(bollard::errors::Error::RequestTimeoutError)) | Err(_) => {
                Err(DockerError::Deadline {
                    doing: doing.into(),
                    after,
                })
            }
            Ok(Err(error)) => Err(DockerError::from_api(doing, error)),
            Ok(Ok(answer)) => Ok(answer),
        }
    }
}

/// Returns a client over a transport with this deadline for the beginning of each response.
fn docker(
    transport: &Transport,
    version: ApiVersion,
    deadline: Duration,
) -> Result<Docker, DockerError> {
    let transport = transport.clone();
    let send = move |request: BollardRequest| {
        let transport = transport.clone();
        async move { transport.send(request).await }
    };
    // The client counts whole seconds.
    let seconds = deadline.as_secs().max(1);
    let version = version.for_client();
    Docker::connect_with_custom_transport(send, Some("http://engine"), seconds, &version)
        .map_err(|error| DockerError::from_api("connect to the container engine", error))
}

/// Returns the error of an unreachable engine, with help for the user.
fn unreachable(
    host: &DockerHost,
    options: &EngineOptions,
    error_output: Option<String>,
    error: &bollard::errors::Error,
) -> DockerError {
    use bollard::errors::Error;
    let address = host.to_string();
    if let Some(cause) = error_output {
        let help =
            Some("check that ssh logs in without a prompt and that docker is installed there");
        return DockerError::Unreachable {
            address,
            cause,
            help,
        };
    }
    let kind = match error {
        Error::RequestTimeoutError => Some(io::ErrorKind::TimedOut),
        Error::IOError { err } => Some(err.kind()),
        _ => None,
    };
    let (cause, help) = match kind {
        Some(io::ErrorKind::TimedOut) => {
            let doing = format!("connect to the container engine at {address}");
            let after = options.connect;
            return DockerError::Deadline { doing, after };
        }
        Some(io::ErrorKind::PermissionDenied) => (
            "permission denied".to_owned(),
            Some(
                "add the user to the group `docker` (`sudo usermod -aG docker $USER`, then log in \
                 again), or use a rootless engine",
            ),
        ),
        Some(io::ErrorKind::NotFound) => (
            "the socket does not exist".to_owned(),
            Some("start Docker, or set its address with `host` or DOCKER_HOST"),
        ),
        Some(io::ErrorKind::ConnectionRefused) => (
            "connection refused".to_owned(),
            Some("is the engine running?"),
        ),
        Some(io::ErrorKind::InvalidData) => (
            executor_core::chain(error),
            Some(
                "see `tls_verify` and `tls_cert_path` (with hyphens in a file of settings), or DOCKER_TLS_VERIFY and \
                 DOCKER_CERT_PATH",
            ),
        ),
        _ => (executor_core::chain(error), None),
    };
    DockerError::Unreachable {
        address,
        cause,
        help,
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("host", &self.shared.host)
            .field("version", &self.shared.version)
            .finish_non_exhaustive()
    }
}
