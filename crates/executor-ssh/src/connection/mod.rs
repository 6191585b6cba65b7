//! One SSH connection: the only module that calls `ssh2`.
//!
//! Each connection has one thread, which owns the session. Others order channels from it and exchange bytes with them
//! through bounded queues, so that a slow reader holds up its own channel only.

mod channel;
mod login;
mod step;
mod tunnel;
mod worker;

pub(crate) use channel::{Channel, ChannelInput, ChannelOutput, Event, Exit};

use self::channel::{Input, Pty};
use self::login::Login;
use self::worker::Worker;
use crate::config::SshOptions;
use crate::error::SshError;
use crate::target::Target;
use executor_core::Cancellation;
use executor_core::ability::TerminalSize;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

/// How many pieces a queue between a channel and its user holds, each of at most [`worker::PIECE`] bytes.
const QUEUE: usize = 16;

/// The first pause between two attempts to connect; it doubles up to 2 s.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// How long after its deadline an attempt to connect is given up. It gets there only while it waits for the resolver of names or
/// for a signature of the SSH agent: these waits have no limit.
const RESOLVER_GRACE: Duration = Duration::from_secs(1);

/// A connection that is logged in. Clones share it; it is closed when the last one is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Connection(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    /// The connection to the host before this one. It is closed after this one.
    _through: Option<Connection>,
}

/// What the thread and the users of its connection share.
#[derive(Debug)]
struct Shared {
    pub(super) address: String,
    orders: Mutex<Orders>,
    pub(super) wake: Wake,
    /// When the host last sent something.
    heard: Mutex<Instant>,
    /// Set when the thread has ended or has to end, and with it all channels.
    ended: CancellationToken,
}

#[derive(Debug, Default)]
struct Orders {
    waiting: VecDeque<Order>,
    is_closed: bool,
}

/// A channel to open.
#[derive(Debug)]
struct Order {
    pub(super) kind: OrderKind,
    pub(super) reply: oneshot::Sender<Result<(), SshError>>,
    pub(super) input: mpsc::Receiver<Input>,
    pub(super) output: channel::Outlet,
}

#[derive(Debug)]
enum OrderKind {
    /// Runs a command, in a terminal if one is described.
    Exec { command: String, pty: Option<Pty> },
    /// Connects to a port from the host.
    Tunnel { host: String, port: u16 },
}

/// Wakes the thread of a connection from `poll`.
#[derive(Debug, Clone)]
struct Wake(Arc<OwnedFd>);

impl Wake {
    fn new() -> std::io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(fd)))
    }

    pub(super) fn wake(&self) {
        // The only possible failure is a counter that is full: then the thread is awake.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.0
    }

    pub(super) fn reset(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl Shared {
    pub(super) fn next_order(&self) -> Option<Order> {
        self.orders.lock().waiting.pop_front()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.orders.lock().is_closed
    }

    /// Refuses all further orders and drops those that wait.
    pub(super) fn end(&self) {
        let mut orders = self.orders.lock();
        orders.is_closed = true;
        orders.waiting.clear();
        drop(orders);
        self.ended.cancel();
    }

    pub(super) fn note_heard(&self) {
        *self.heard.lock() = Instant::now();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    fn broken(&self) -> SshError {
        SshError::Broken {
            host: self.address.clone(),
            source: None,
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.orders.lock().is_closed = true;
        self.shared.wake.wake();
    }
}

impl Connection {
    /// Connects to a host through its jumps and logs in. What may pass by itself is tried again until the deadline.
    ///
    /// # Errors
    ///
    /// At once when the host's key is not trusted or the user is not let in, else at the deadline of the settings.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`SshError::Canceled`].
    pub(crate) async fn open(
        target: &Target,
        options: &SshOptions,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let deadline = Instant::now() + options.config.connect_within();
        let mut through = None;
        for hop in target.jumps.iter().chain([target]) {
            let connected = Self::open_hop(hop, through, options, deadline, cancellation).await?;
            through = Some(connected);
        }
        through.ok_or_else(|| SshError::config("no host"))
    }

    async fn open_hop(
        target: &Target,
        through: Option<Self>,
        options: &SshOptions,
        deadline: Instant,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let attempt = Self::attempt(target, through.clone(), options, deadline, cancellation);
            let error = match attempt.await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            let may_pass = matches!(
                error,
                SshError::Unreachable { .. } | SshError::Broken { .. } | SshError::Refused { .. }
            );
            if !may_pass || Instant::now() + pause >= deadline {
                return Err(error);
            }
            tracing::debug!(error = executor_core::chain(&error), "Connecting again.");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                cause = cancellation.canceled() => return Err(SshError::Canceled(cause)),
            }
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Connects and logs in, in a thread of its own.
    ///
    /// The thread of an attempt that was given up or canceled while it waits for the resolver of names, or for a signature of the
    /// SSH agent, ends when that answers.
    async fn attempt(
        target: &Target,
        through: Option<Self>,
        options: &SshOptions,
        deadline: Instant,
        cancellation: &Cancellation,
    ) -> Result<Self, SshError> {
        let unreachable = |source: std::io::Error| SshError::Unreachable {
            host: target.address(),
            source: source.into(),
        };
        let late = |what: &str| {
            let within = options.config.connect_within().as_secs();
            let text = format!("{what} did not answer within {within} s");
            unreachable(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
        };
        let tunnel = match &through {
            Some(before) => Some(tokio::select! {
                opened = before.tunnel(&target.host, target.port) => opened?,
                () = sleep_until(deadline.into()) => return Err(late(&before.0.shared.address)),
                cause = cancellation.canceled() => return Err(SshError::Canceled(cause)),
            }),
            None => None,
        };
        let shared = Arc::new(Shared {
            address: target.address(),
            orders: Mutex::default(),
            wake: Wake::new().map_err(unreachable)?,
            heard: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
        });
        let login = Login::new(target.clone(), options.clone(), deadline);
        let socket = login.socket();
        let (ready, is_ready) = oneshot::channel();
        let keepalive = options.config.keepalive_seconds();
        let of_thread = Arc::clone(&shared);
        let serve = move || {
            match login.log_in(tunnel) {
                Ok((session, socket)) => {
                    if ready.send(Ok(())).is_ok() {
                        Worker::new(session, socket, &of_thread, keepalive).run();
                    }
                }
                Err(error) => drop(ready.send(Err(error))),
            }
            of_thread.end();
        };
        // The thread ends by itself when the last handle is dropped.
        let thread = thread::Builder::new().name("ssh".to_owned());
        thread.spawn(serve).map_err(unreachable)?;
        let handle = Self(Arc::new(Handle {
            shared,
            _through: through,
        }));
        let is_ready = tokio::select! {
            ready = is_ready => ready,
            cause = cancellation.canceled() => {
                socket.close();
                return Err(SshError::Canceled(cause));
            }
            // The session minds the deadline.
            () = sleep_until((deadline + RESOLVER_GRACE).into()) => {
                socket.close();
                return Err(late("the resolver of names or the SSH agent"));
            }
        };
        is_ready.unwrap_or_else(|_| Err(handle.0.shared.broken()))?;
        Ok(handle)
    }

    /// Runs a command.
    ///
    /// # Errors
    ///
    /// [`SshError::Refused`] when the host opens no channel; [`SshError::Broken`].
    pub(crate) async fn exec(&self, command: &str) -> Result<Channel, SshError> {
        self.order(OrderKind::Exec {
            command: command.to_owned(),
            pty: None,
        })
        .await
    }

    /// Runs a command in a terminal.
    ///
    /// # Errors
    ///
    /// As [`exec`](Self::exec).
    pub(crate) async fn exec_in_terminal(
        &self,
        command: &str,
        term: &str,
        size: TerminalSize,
    ) -> Result<Channel, SshError> {
        let pty = Some(Pty {
            term: term.to_owned(),
            size,
        });
        let command = command.to_owned();
        self.order(OrderKind::Exec { command, pty }).await
    }

    async fn tunnel(&self, host: &str, port: u16) -> Result<Channel, SshError> {
        let host = host.to_owned();
        self.order(OrderKind::Tunnel { host, port }).await
    }

    async fn order(&self, kind: OrderKind) -> Result<Channel, SshError> {
        let shared = &self.0.shared;
        let (reply, replied) = oneshot::channel();
        let (channel, input, output) = channel::new(self.clone(), &shared.wake);
        let order = Order {
            kind,
            reply,
            input,
            output,
        };
        {
            let mut orders = shared.orders.lock();
            if orders.is_closed {
                return Err(shared.broken());
            }
            orders.waiting.push_back(order);
        }
        shared.wake.wake();
        match replied.await {
            Ok(Ok(())) => Ok(channel),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(shared.broken()),
        }
    }

    /// Ends the connection if the host has sent nothing since then; returns whether it did.
    pub(crate) fn end_if_silent(&self, since: Instant) -> bool {
        let shared = &self.0.shared;
        let is_silent = *shared.heard.lock() <= since;
        if is_silent {
            shared.end();
            shared.wake.wake();
        }
        is_silent
    }

    /// Returns whether the connection has ended.
    pub(crate) fn is_broken(&self) -> bool {
        self.0.shared.has_ended()
    }
}
