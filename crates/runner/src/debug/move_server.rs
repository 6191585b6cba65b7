//! Moves the server to another address when the settings change.

use super::{DebugState, ListenAddress, serve_debug};
use std::error::Error;
use std::io;
use std::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Serves on `first`, and then on each further address of the settings; on none while they have none.
///
/// An address that cannot be used is reported, and the former one stays. Ends when the sender is dropped.
pub(crate) async fn follow_settings(
    first: Option<TcpListener>,
    mut settings: watch::Receiver<Option<ListenAddress>>,
    state: DebugState,
) {
    let mut server = Server {
        state,
        address: settings.borrow_and_update().clone(),
        serving: JoinSet::new(),
    };
    if let Some(listener) = first {
        server.serve(listener);
    }
    while settings.changed().await.is_ok() {
        let address = settings.borrow_and_update().clone();
        if address == server.address {
            continue;
        }
        match address {
            Some(address) => server.move_to(address).await,
            None => server.stop().await,
        }
    }
    server.stop().await;
}

struct Server {
    state: DebugState,
    /// Where it listens.
    address: Option<ListenAddress>,
    serving: JoinSet<()>,
}

impl Server {
    fn serve(&mut self, listener: TcpListener) {
        match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => {
                if let Ok(address) = listener.local_addr() {
                    tracing::info!(%address, "Serving metrics.");
                }
                let state = self.state.clone();
                self.serving.spawn(serve_debug(listener, state));
            }
            Err(error) => {
                tracing::error!(error = &error as &dyn Error, "Metrics cannot be served.");
                self.address = None;
            }
        }
    }

    async fn stop(&mut self) {
        self.serving.shutdown().await;
        self.address = None;
    }

    async fn move_to(&mut self, address: ListenAddress) {
        let mut bound = bind(&address).await;
        let former = self.address.clone();
        let has_same_port = |it: &ListenAddress| it.port() == address.port();
        if bound.is_err() && former.as_ref().is_some_and(has_same_port) {
            // Its own listener may be in the way, on another interface.
            self.stop().await;
            bound = bind(&address).await;
        }
        match (bound, former) {
            (Ok(listener), _) => {
                self.stop().await;
                self.address = Some(address);
                self.serve(listener);
            }
            (Err(error), former) => {
                tracing::error!(%address, error = &error as &dyn Error, "`listen_address` cannot be used; the former one stays.");
                if self.serving.is_empty()
                    && let Some(former) = former
                {
                    self.restart(former).await;
                }
            }
        }
    }

    /// Listens again where the server was before.
    async fn restart(&mut self, address: ListenAddress) {
        match bind(&address).await {
            Ok(listener) => {
                self.address = Some(address);
                self.serve(listener);
            }
            Err(error) => {
                tracing::error!(%address, error = &error as &dyn Error, "Metrics cannot be served.");
            }
        }
    }
}

/// Binds off the thread: a name has to be resolved.
async fn bind(address: &ListenAddress) -> io::Result<TcpListener> {
    let address = address.clone();
    let bound = tokio::task::spawn_blocking(move || address.bind()).await;
    bound.map_err(io::Error::other).flatten()
}
