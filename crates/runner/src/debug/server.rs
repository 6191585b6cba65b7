use super::DebugState;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The largest number of connections at a time.
const CONNECTIONS: usize = 32;

/// How long a client may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);

/// How long a connection may last; each is for one request.
const CONNECTION: Duration = Duration::from_secs(30);

/// The largest head of a request, in bytes.
const LARGEST: usize = 16 << 10;

/// Serves metrics and the state of the process over HTTP.
///
/// | path | content |
/// |---|---|
/// | `/metrics` | all metrics, as text for Prometheus |
/// | `/debug/jobs/list` | a line `url=.. state=.. stage=.. executor_stage=.. duration=..` for each running job |
/// | `/debug/process/state` | `starting`, `running`, `graceful-shutdown` or `forceful-shutdown` |
/// | `/health/ready` | status 200 while the runner takes jobs, otherwise 503 |
/// | `/health/live` | status 200 |
///
/// # Cancellation
///
/// Runs until it is dropped, which ends all connections.
pub async fn serve_debug(listener: TcpListener, state: DebugState) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is free, for instance.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let state = state.clone();
        connections.spawn(async move {
            // The client reports an error of the connection.
            let _ = timeout(CONNECTION, serve(stream, state)).await;
            drop(permit);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, state: DebugState) -> hyper::Result<()> {
    let answer = service_fn(move |request: Request<Incoming>| {
        let response = state.respond(request.method(), request.uri().path());
        async { Ok::<_, Infallible>(response) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .keep_alive(false)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(stream), answer)
        .await
}
