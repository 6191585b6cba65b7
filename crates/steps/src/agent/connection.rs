//! One connection to the agent: HTTP/2 with any number of calls.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;

/// The silence after which a connection is checked, and the time limit of the check. A killed runner may leave a proxy that
/// keeps the connection open.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_mins(1);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_mins(1);

/// How long calls may take after the agent was stopped.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// The flow-control window of a call. A larger one would only take memory.
const WINDOW: u32 = 256 * 1024;

/// Serves a connection to its end; no call starts after `stop`.
pub(crate) async fn serve<C, S>(stream: C, service: S, stop: CancellationToken)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send,
    S::Future: Send + 'static,
{
    let calls = TaskTracker::new();
    let mut builder = http2::Builder::new(Calls(calls.clone()));
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW * 2)
        .max_send_buf_size(64 * 1024);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            timeout(FINISH_WITHIN, connection).await.ok()
        }
    };
    // Broken connections are normal here: the client reconnects.
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "A connection ended early.");
    }
    calls.close();
    // The results of running calls are useless now, but their resources must be released.
    let _ = timeout(FINISH_WITHIN, calls.wait()).await;
}

/// Owns the tasks of the calls on one connection.
#[derive(Debug, Clone)]
struct Calls(TaskTracker);

impl<F> Executor<F> for Calls
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, call: F) {
        self.0.spawn(call);
    }
}
