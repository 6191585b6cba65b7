//! Runs the agent.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use executor_core::{CancelCause, Cancellation};
use hyper::service::service_fn;
use process::{adopt_orphans, collect_orphans, make_private_dir};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::agent::READY;
use crate::agent::command::{self, Running, print_error};
use crate::agent::connection;
use crate::agent::invocation::ServeOptions;
use crate::agent::presence::Presence;
use crate::agent::socket::{Socket, SocketError};
use crate::service::{Dispatch, Service, ServiceError, ServiceOptions};

/// The pause after a connection could not be accepted, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long running requests may take to end at shutdown: less than the 10 s of `docker stop`.
const WIND_DOWN: Duration = Duration::from_secs(5);

/// How long clients may take to fetch results at shutdown: together with [`WIND_DOWN`] less than those 10 s.
const FETCH_WITHIN: Duration = Duration::from_secs(3);

/// Why an agent cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("create the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error("{what}: {source}")]
    System {
        what: &'static str,
        source: io::Error,
    },
}

impl ServeError {
    fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}

/// Serves until stopped, until its command ends, or until it had no clients for too long; returns the exit code.
pub(crate) async fn serve(options: ServeOptions) -> Result<u8, ServeError> {
    create_directory(&options.directory).map_err(|source| ServeError::Directory {
        path: options.directory.clone(),
        source,
    })?;
    let mut socket = Socket::open(&options.socket)?;
    let mut signals = Signals::new().map_err(ServeError::system("listen for signals"))?;
    // No kernel refuses this. Without it the first process would be the parent of orphans.
    let _ = adopt_orphans();
    let listener = socket.take_listener().map(UnixListener::from_std);
    let listener = listener
        .unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()))
        .map_err(ServeError::system("listen on the socket"))?;
    let mut service_options = ServiceOptions::new(&options.directory);
    // A client that returns as late as it may still finds the results: without them, it might run a script again.
    let keep_finished = &mut service_options.keep_finished;
    *keep_finished = options.orphan_grace.unwrap_or_default().max(*keep_finished);
    let prune_every = service_options.scan_every;
    let service = Service::start(service_options)?;
    print_error(&format!("{READY}{}", options.socket.display()));

    let stop = Cancellation::new();
    let mut command = match options.command {
        words if words.is_empty() => None,
        words => {
            let running = command::start(words, stop.clone());
            Some(running.map_err(ServeError::system("start a thread for the command"))?)
        }
    };
    let mut agent = Serving {
        listener,
        dispatch: service.dispatch(),
        service,
        prune_every,
        connections: JoinSet::new(),
        closing: CancellationToken::new(),
        presence: Presence::new(options.orphan_grace),
    };
    let code = agent.run(&mut signals, command.as_mut()).await;
    drop(socket);
    stop.cancel(CancelCause::Shutdown);
    agent.close().await;
    match (code, command) {
        (Some(code), _) => Ok(code),
        (None, Some(mut command)) => Ok(command.ended().await),
        (None, None) => Ok(0),
    }
}

/// Creates the directory for this user alone.
///
/// A directory of another user is used unchanged: it may be mounted into a container.
fn create_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() && there.uid() != own => Ok(()),
        _ => make_private_dir(path),
    }
}

/// The signals that the agent handles.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    child: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            child: signal(SignalKind::child())?,
        })
    }
}

/// A running agent.
struct Serving {
    listener: UnixListener,
    service: Service,
    dispatch: Dispatch,
    prune_every: Duration,
    connections: JoinSet<()>,
    closing: CancellationToken,
    presence: Presence,
}

impl Serving {
    /// Serves until there is a reason to end; returns the exit code of the command if that is the reason.
    async fn run(
        &mut self,
        signals: &mut Signals,
        mut command: Option<&mut Running>,
    ) -> Option<u8> {
        let mut prune = interval(self.prune_every);
        prune.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = prune.tick() => self.service.prune(),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.connect(stream),
                    Err(error) => {
                        tracing::warn!(%error, "Could not accept a connection.");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(_) = self.connections.join_next() => self.presence.reset(),
                _ = signals.child.recv() => collect_orphans(),
                _ = signals.terminate.recv() => return None,
                _ = signals.interrupt.recv() => return None,
                Some(code) = ended(&mut command) => return Some(code),
                () = self.presence.next_check() => {
                    // A client that waits for a result is connected, or reconnects in time.
                    if self.presence.check(!self.connections.is_empty()) {
                        print_error("runwright-agent: no client was connected for too long");
                        return None;
                    }
                }
            }
        }
    }

    fn connect(&mut self, stream: UnixStream) {
        self.presence.reset();
        let dispatch = self.dispatch.clone();
        let service = service_fn(move |call| dispatch.clone().answer(call));
        let closing = self.closing.clone();
        self.connections
            .spawn(connection::serve(stream, service, closing));
    }

    /// Ends running requests before the connections, so that followers see the end.
    async fn close(mut self) {
        let is_idle = self.connections.is_empty();
        let fetch = if is_idle {
            Duration::ZERO
        } else {
            FETCH_WITHIN
        };
        self.service.wind_down(WIND_DOWN, fetch).await;
        self.closing.cancel();
        if let Err(error) = self.service.close().await {
            tracing::warn!(%error, "Not all processes have ended.");
        }
        while self.connections.join_next().await.is_some() {}
    }
}

async fn ended(command: &mut Option<&mut Running>) -> Option<u8> {
    match command {
        Some(command) => Some(command.ended().await),
        None => None,
    }
}
