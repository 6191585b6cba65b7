//! Connections to the engine, over a socket, TCP, TLS or ssh.
//!
//! The connectors of bollard 0.21 were considered and are not used. Over TLS bollard trusts the system's roots beside
//! the given `ca.pem`, where Docker's client trusts `ca.pem` alone, makes a handshake for each request, and cannot
//! leave a certificate unchecked. Over ssh it starts a master for each connection and sets no deadline for it.

use crate::engine::address::Address;
use crate::engine::connection::Connection;
use crate::engine::host::{DockerHost, EngineOptions};
use crate::engine::ssh::SshClient;
use crate::error::DockerError;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use process::{Containment, Settings, Supervisor};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tower_service::Service;

/// Opens connections to one engine.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    endpoint: Arc<Endpoint>,
    deadline: Duration,
}

/// The endpoint of connections.
#[derive(Debug)]
enum Endpoint {
    Unix(PathBuf),
    Tcp {
        host: String,
        port: u16,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    },
    Ssh(SshClient),
}

impl Connector {
    /// Prepares connections: reads certificates, or starts the supervisor of ssh.
    pub(crate) fn new(host: &DockerHost, options: &EngineOptions) -> Result<Self, DockerError> {
        let endpoint = match &host.address {
            Address::Unix(path) => Endpoint::Unix(path.clone()),
            Address::Tcp {
                host: name, port, ..
            } => {
                let server = || {
                    ServerName::try_from(name.clone()).map_err(|_| {
                        DockerError::config(format!(
                            "invalid host {name:?} for TLS: expected a name that a certificate can have"
                        ))
                    })
                };
                let tls = match host.tls_of_address() {
                    Some(files) => Some((files.config()?, server()?)),
                    None => None,
                };
                let (host, port) = (name.clone(), *port);
                Endpoint::Tcp { host, port, tls }
            }
            Address::Ssh { .. } => {
                let supervisor = own_supervisor()?;
                let ssh = SshClient::new(&supervisor, &options.ssh, &host.address);
                Endpoint::Ssh(ssh.ok_or_else(|| DockerError::config("there is no ssh to start"))?)
            }
        };
        Ok(Self {
            endpoint: Arc::new(endpoint),
            deadline: options.connect,
        })
    }

    /// Returns the error output of ssh.
    pub(crate) fn error_output(&self) -> Option<String> {
        match &*self.endpoint {
            Endpoint::Ssh(ssh) => ssh.error_output(),
            Endpoint::Unix(_) | Endpoint::Tcp { .. } => None,
        }
    }

    /// Opens a connection within the deadline.
    pub(crate) async fn connect(&self) -> io::Result<TokioIo<Connection>> {
        let connection = tokio::time::timeout(self.deadline, self.open()).await;
        connection.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn open(&self) -> io::Result<TokioIo<Connection>> {
        match &*self.endpoint {
            Endpoint::Unix(path) => Ok(Connection::new(UnixStream::connect(path).await?)),
            Endpoint::Tcp { host, port, tls } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                // Small requests must not wait for each other.
                stream.set_nodelay(true)?;
                let Some((config, name)) = tls else {
                    return Ok(Connection::new(stream));
                };
                let connector = TlsConnector::from(Arc::clone(config));
                let stream = connector.connect(name.clone(), stream).await?;
                Ok(Connection::new(stream))
            }
            Endpoint::Ssh(ssh) => Ok(Connection::boxed(ssh.connect().await?)),
        }
    }
}

/// Returns a supervisor for ssh. That of the run ends before its last connections.
fn own_supervisor() -> Result<Supervisor, DockerError> {
    let settings = Settings {
        // An ssh without its runner ends by itself.
        containment: Containment::ProcessGroup,
        ..Settings::default()
    };
    Supervisor::start(settings).map_err(|error| DockerError::Config {
        message: "start ssh to reach the container engine".to_owned(),
        source: Some(error.into()),
    })
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect().await })
    }
}
