use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::net::TcpListener;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Accepts and serves connections until the stop signal.
pub(super) async fn accept(
    router: Router,
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    stop: &CancellationToken,
) {
    listener
        .set_nonblocking(true)
        .expect("a listener can be one of a runtime");
    let listener = tokio::net::TcpListener::from_std(listener).expect("there is a runtime");
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = stream else { continue };
        let (router, acceptor) = (router.clone(), acceptor.clone());
        connections.spawn(async move {
            match acceptor {
                None => serve(stream, router).await,
                // A client that does not speak TLS or distrusts the authority disconnects.
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, router).await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
    connections.shutdown().await;
}

/// Serves the requests of one connection until either side closes it.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, router: Router) {
    let cut = CancellationToken::new();
    let service = TowerToHyperService::new(router.layer(Extension(cut.clone())));
    let server = auto::Builder::new(TokioExecutor::new()).http1_only();
    tokio::select! {
        () = cut.cancelled() => {}
        // The client sees and reports any connection error itself.
        _ = server.serve_connection(TokioIo::new(stream), service) => {}
    }
}
