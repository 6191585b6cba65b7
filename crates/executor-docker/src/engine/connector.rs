use crate::engine::address::Address;
use crate::engine::connection::Connection;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tower_service::Service;

/// Makes the connections to one engine.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    address: Arc<Address>,
    deadline: Duration,
}

impl Connector {
    pub(crate) fn new(address: Address, deadline: Duration) -> Self {
        Self {
            address: Arc::new(address),
            deadline,
        }
    }

    /// Opens a connection within the deadline.
    pub(crate) async fn connect(&self) -> io::Result<TokioIo<Connection>> {
        let connection = tokio::time::timeout(self.deadline, self.open()).await;
        connection.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    async fn open(&self) -> io::Result<TokioIo<Connection>> {
        match &*self.address {
            Address::Unix(path) => Ok(Connection::new(UnixStream::connect(path).await?)),
            Address::Tcp { host, port, .. } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                // Small requests go both ways; none of them shall wait for another.
                stream.set_nodelay(true)?;
                Ok(Connection::new(stream))
            }
            Address::Ssh { .. } => Err(io::ErrorKind::Unsupported.into()),
        }
    }
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
