//! One connection to the agent: HTTP/2, with any number of calls on it.

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

/// After so long of silence the other side is asked whether it is there, and after so long without an answer it is
/// given up: a runner that is killed may leave a proxy behind that holds the connection open.
const ASK_EVERY: Duration = Duration::from_mins(1);
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// How long calls may go on after the agent was asked to end.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// What may be on its way in one direction without being read: more would only take memory.
const WINDOW: u32 = 256 * 1024;

/// Serves the connection to its end; after `stop` no call begins any more.
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
        .keep_alive_interval(ASK_EVERY)
        .keep_alive_timeout(ANSWER_WITHIN)
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
    // A connection that was cut is an everyday thing here: the client comes again.
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "A connection ended early.");
    }
    calls.close();
    // What a call still does is of no use to anybody, but what it holds must be given back in order.
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
