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

/// Makes the connections to one engine.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    endpoint: Arc<Endpoint>,
    deadline: Duration,
}

/// Over what a connection goes.
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
    /// Reads what is needed to connect: certificates, or a place for processes.
    pub(crate) fn new(host: &DockerHost, options: &EngineOptions) -> Result<Self, DockerError> {
        let endpoint = match &host.address {
            Address::Unix(path) => Endpoint::Unix(path.clone()),
            Address::Tcp {
                host: name, port, ..
            } => {
                let server = || {
                    ServerName::try_from(name.clone()).map_err(|_| {
                        DockerError::config(format!(
                            "{name:?} is no name that a certificate can have"
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

    /// Returns what the program in between has complained of.
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
                // Small requests go both ways; none of them shall wait for another.
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

/// Returns a supervisor for ssh. That of a run ends before the last connections to its engine do.
fn own_supervisor() -> Result<Supervisor, DockerError> {
    let settings = Settings {
        // An ssh whose runner is gone ends by itself.
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
