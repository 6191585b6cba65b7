use super::connection;
use axum::Router;
use std::net::{SocketAddr, TcpListener};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};
use std::{fmt, io};
use tokio::runtime;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// A server that runs until it is dropped.
pub(crate) struct Running {
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(
        router: Router,
        listener: TcpListener,
        acceptor: Option<TlsAcceptor>,
    ) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let serve = move || {
            let runtime = runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(connection::accept(router, listener, acceptor, &stopped));
        };
        let thread = Builder::new().name("gitlab-testkit".to_owned());
        Self {
            stop,
            thread: Some(thread.spawn(serve).expect("a thread can be started")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // The thread has already printed its panic, if any.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// Binds an address again, and retries while an old connection still occupies it.
pub(crate) fn bind_again(address: SocketAddr) -> io::Result<TcpListener> {
    let began = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && began.elapsed() < Duration::from_secs(30) =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            bound => return bound,
        }
    }
}
