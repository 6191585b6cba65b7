//! Connections to the ports of a pod from outside the cluster.

use crate::config::NAME;
use crate::error::KubernetesError;
use crate::exec::PodExec;
use crate::pod::Offer;
use executor_core::ability::{Connection, PortProxy};
use executor_core::{BoxError, BuildError, Cancellation, Retryability};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::time::timeout;

/// The time limit of a connection.
const DEADLINE: Duration = Duration::from_secs(30);

/// What is printed when a port has a listener.
const LISTENS: &str = "listens";

/// The addresses to which Kubernetes forwards, as the kernel writes them: all addresses, and the local host's, of both families. The
/// order of the bytes is that of the machine.
const ADDRESSES: [&str; 7] = [
    "00000000",
    "0100007F",
    "7F000001",
    "00000000000000000000000000000000",
    "00000000000000000000000001000000",
    "00000000000000000000000000000001",
    "0000000000000000FFFF00000100007F",
];

/// Reaches the ports of a job's services, and of the job itself. All containers of a pod share one network.
#[derive(Debug)]
pub(crate) struct PodPorts {
    pub(crate) exec: PodExec,
    /// The services, and the job as the last one.
    pub(crate) offers: Vec<Offer>,
}

impl PodPorts {
    /// Checks that something with this name offers the port: the pipeline file names it, or names none.
    fn check(&self, name: &str, port: u16) -> Result<(), BuildError> {
        let has_name = |it: &&Offer| it.names.iter().any(|it| it.eq_ignore_ascii_case(name));
        let mut offers = self.offers.iter().filter(has_name).peekable();
        if offers.peek().is_none() {
            let message = format!("the job has no service {name:?}");
            return Err(BuildError::config(message));
        }
        if offers.any(|it| it.ports.is_empty() || it.ports.contains(&port)) {
            return Ok(());
        }
        let message = format!("{name} does not offer port {port}");
        Err(BuildError::config(message))
    }

    async fn open(&self, service: &str, port: u16) -> Result<PortStream, BuildError> {
        // A connection that Kubernetes refuses looks like one that the program in the pod has closed.
        let script = listener_script(port);
        let printed = self.exec.run(&script, &[], DEADLINE).await?;
        if printed.trim() != LISTENS {
            let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
            return Err(not_yet(service, port, refused.into()));
        }
        let PodExec { cluster, pod } = &self.exec;
        let opened = cluster.pods.portforward(pod, &[port]).await;
        let mut forwarder =
            opened.map_err(|error| KubernetesError::of("forward the port", error))?;
        let stream = forwarder.take_stream(port).map(PortStream);
        Ok(stream.ok_or_else(|| self.exec.broken("the connection has no streams"))?)
    }
}

/// Returns a script that prints [`LISTENS`] if a port has a listener. It needs a shell alone.
fn listener_script(port: u16) -> String {
    let locals = ADDRESSES.map(|address| format!("{address}:{port:04X}"));
    // The state 0A is a listening socket.
    format!(
        "for file in /proc/net/tcp /proc/net/tcp6; do\n\
         [ -r $file ] && while read -r _ local _ state _; do\n\
         [ \"$state\" = 0A ] && case $local in {}) echo {LISTENS}; exit 0 ;; esac\n\
         done <$file\ndone\nexit 0",
        locals.join("|")
    )
}

fn not_yet(service: &str, port: u16, source: BoxError) -> BuildError {
    BuildError::System {
        backend: NAME,
        message: format!("connect to port {port} of {service}"),
        source: Some(source),
        retry: Retryability::Temporary,
    }
}

#[async_trait::async_trait]
impl PortProxy for PodPorts {
    async fn connect(
        &self,
        service: &str,
        port: u16,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        self.check(service, port)?;
        tokio::select! {
            opened = timeout(DEADLINE, self.open(service, port)) => match opened {
                Ok(stream) => Ok(Box::new(stream?)),
                Err(_) => Err(not_yet(service, port, io::Error::from(io::ErrorKind::TimedOut).into())),
            },
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}

/// A connection to a port of a pod. Its requests end when this is dropped and all is sent.
struct PortStream(DuplexStream);

impl AsyncRead for PortStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for PortStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    /// Kubernetes cannot close one direction alone: the answer to a request would be lost.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
