//! One driver process and the calls to it.
//!
//! One task per process reads, writes and watches. It passes replies on without waiting, since each call has a window;
//! so a slow receiver delays neither other calls nor the stop of its own.

use crate::call::{Call, Event, Received};
use crate::error::{DriverError, End};
use crate::error_output::{ErrorOutput, JobLogs};
use crate::frame::{Decoder, WINDOW, encode};
use crate::message::{Ack, Description, Empty, OutputStream, Part, Reply, ReplyPart, Request};
use executor_core::{CancelCause, Cancellation, HumanDuration};
use parking_lot::Mutex;
use process::{ExitStatus, OutputSink, Process, Stream, Timing};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::Sender;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How many frames with a payload wait for a driver that does not read.
const WAITING_FRAMES: usize = 8;

/// How long a driver that has closed its standard input or output may take to exit.
const EXIT_AFTER_INPUT: Duration = Duration::from_secs(2);

/// How long the end of a driver and of its leases may take without a word to the user.
const UNMENTIONED: Duration = Duration::from_secs(3);

/// A driver process.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) shared: Shared,
    /// What the driver says about itself, once it was asked.
    pub(crate) description: OnceCell<Description>,
    /// Whether the driver left a release without an answer.
    pub(crate) release_hangs: AtomicBool,
    frames: UnboundedSender<Outgoing>,
    /// Bounds what waits in `frames`. Frames that end or acknowledge something need no permit.
    room: Arc<Semaphore>,
}

/// A frame that waits to be written.
#[derive(Debug)]
struct Outgoing {
    frame: Vec<u8>,
    #[expect(dead_code, reason = "released when the frame is written")]
    permit: Option<OwnedSemaphorePermit>,
}

/// The state that the task of the process and the callers share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    table: Mutex<Table>,
    error_output: ErrorOutput,
    /// Ends the process with signals.
    stop: Cancellation,
    /// Closes the driver's standard input.
    closing: CancellationToken,
    /// Set when the driver has closed its standard output.
    output_closed: CancellationToken,
    /// Set after the end of the process.
    gone: CancellationToken,
}

#[derive(Debug, Default)]
struct Table {
    last: u32,
    open: HashMap<u32, Open>,
    /// Calls that the runner no longer waits for; a late answer to one is not a mistake.
    abandoned: HashSet<u32>,
    /// How many pieces of output were received.
    heard: u64,
    end: Option<End>,
}

#[derive(Debug)]
struct Open {
    /// The environment that the call concerns, if it is one of a job.
    environment: Option<String>,
    events: UnboundedSender<Received>,
    /// Bytes received and not acknowledged.
    held: u32,
    /// Bytes sent and not acknowledged.
    sent: u32,
}

impl Connection {
    /// Takes over a process; the returned future serves it until its end.
    pub(crate) fn new(
        mut process: Process,
        call_timeout: Duration,
        logs: Arc<JobLogs>,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let (frames, outgoing) = unbounded_channel();
        let connection = Arc::new(Self {
            shared: Shared {
                error_output: ErrorOutput::new(logs),
                ..Shared::default()
            },
            description: OnceCell::new(),
            release_hangs: AtomicBool::new(false),
            frames,
            room: Arc::new(Semaphore::new(WAITING_FRAMES)),
        });
        let stdin = process.take_stdin();
        let serve = Arc::clone(&connection).serve(process, stdin, outgoing, call_timeout);
        (connection, serve)
    }

    async fn serve(
        self: Arc<Self>,
        process: Process,
        stdin: Option<Sender>,
        outgoing: UnboundedReceiver<Outgoing>,
        call_timeout: Duration,
    ) {
        let shared = &self.shared;
        let mut sink = Sink {
            shared,
            decoder: Decoder::default(),
        };
        let timing = Timing {
            terminate_grace: Duration::from_secs(2),
            ..Timing::default()
        };
        let run = async {
            let ended = process.run(&mut sink, &shared.stop, &timing).await;
            shared.end(match ended {
                Ok(outcome) => match outcome.status {
                    ExitStatus::Exited(code) => End::Exited(code),
                    ExitStatus::Signaled { signal, .. } => End::Signaled(signal),
                },
                Err(error) => End::NotAwaited(Arc::new(error)),
            });
            shared.gone.cancel();
        };
        let write = shared
            .gone
            .run_until_cancelled(shared.write(stdin, outgoing, call_timeout));
        let watch = shared.gone.run_until_cancelled(self.watch(call_timeout));
        let output = shared
            .gone
            .run_until_cancelled(shared.await_closed_output());
        tokio::join!(run, write, watch, output);
    }

    /// Ends a driver that is silent while calls are open, even when asked for its status.
    async fn watch(self: &Arc<Self>, limit: Duration) {
        let mut before = None;
        loop {
            sleep(limit / 2).await;
            let now = self.shared.open_and_heard();
            // The start has its own deadline.
            if !self.description.initialized() || now.0 == 0 || before.replace(now.1) != Some(now.1)
            {
                continue;
            }
            let Ok(mut status) = self.open(None, "status", Empty {}, &[], None) else {
                return;
            };
            // Any sign of life counts, and an error is one.
            let answer = timeout(limit, status.event()).await;
            if answer.is_err() && self.shared.open_and_heard().1 == now.1 {
                self.shared.fail(End::Silent(limit));
                return;
            }
        }
    }

    /// Opens a call that concerns no job; waits while many frames wait for the driver.
    pub(crate) async fn call<P: Serialize>(
        self: &Arc<Self>,
        name: &'static str,
        params: P,
    ) -> Result<Call, DriverError> {
        let permit = self.room().await;
        self.open(None, name, params, &[], permit)
    }

    /// Opens a call for the job in an environment, whose log has the lines that the driver sends in it.
    pub(crate) async fn call_for<P: Serialize>(
        self: &Arc<Self>,
        environment: &str,
        name: &'static str,
        params: P,
        payload: &[&[u8]],
    ) -> Result<Call, DriverError> {
        let permit = self.room().await;
        self.open(Some(environment), name, params, payload, permit)
    }

    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        let acquired = Arc::clone(&self.room).acquire_owned();
        let acquired = self.shared.gone.run_until_cancelled(acquired).await;
        acquired.and_then(Result::ok)
    }

    fn open<P: Serialize>(
        self: &Arc<Self>,
        environment: Option<&str>,
        name: &'static str,
        params: P,
        payload: &[&[u8]],
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<Call, DriverError> {
        let (events, receiver) = unbounded_channel();
        let id = self.shared.register(environment, events)?;
        let call = Call::new(Arc::clone(self), id, name, receiver);
        let part = Part::Call { call: name, params };
        let frame = encode(&Request { id, part }, payload)?;
        // A driver that is gone closes the call, which reports it.
        let _ = self.frames.send(Outgoing { frame, permit });
        Ok(call)
    }

    /// Sends a frame that belongs to an open call.
    pub(crate) fn send(&self, id: u32, part: Part<Empty>) {
        if let Ok(frame) = encode(&Request { id, part }, &[]) {
            let _ = self.frames.send(Outgoing {
                frame,
                permit: None,
            });
        }
    }

    /// Sends data that belongs to an open call; waits while many frames wait for the driver.
    pub(crate) async fn send_data(
        &self,
        id: u32,
        part: Part<Empty>,
        payload: &[u8],
    ) -> Result<(), DriverError> {
        let permit = self.room().await;
        let frame = encode(&Request { id, part }, &[payload])?;
        self.shared.count_sent(id, payload.len());
        let _ = self.frames.send(Outgoing { frame, permit });
        Ok(())
    }

    /// Returns whether the driver can take calls.
    pub(crate) fn is_alive(&self) -> bool {
        self.shared.table.lock().end.is_none()
    }

    /// Returns the error of a call to a driver that has ended.
    pub(crate) fn end_error(&self) -> DriverError {
        self.shared.end_error(&self.shared.table.lock())
    }

    /// Ends the driver: closes its standard input, and terminates it when it has not exited after `grace`.
    pub(crate) async fn close(&self, grace: Duration) {
        self.shared.closing.cancel();
        let ended = mention(grace, "exit", self.shared.gone.cancelled());
        if timeout(grace, ended).await.is_err() {
            self.shared.stop.cancel(CancelCause::Shutdown);
        }
        self.shared.gone.cancelled().await;
    }
}

/// Waits for the end of work, and tells the user what the driver takes long for, when the job's log has ended.
pub(crate) async fn mention<T>(
    limit: Duration,
    doing: &'static str,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    if let Ok(done) = timeout(UNMENTIONED, &mut work).await {
        return done;
    }
    let most = HumanDuration(limit);
    tracing::warn!("Waiting for the driver to {doing}, for at most {most}.");
    work.await
}

impl Shared {
    fn register(
        &self,
        environment: Option<&str>,
        events: UnboundedSender<Received>,
    ) -> Result<u32, DriverError> {
        let mut table = self.table.lock();
        if table.end.is_some() {
            return Err(self.end_error(&table));
        }
        table.last += 1;
        let id = table.last;
        let open = Open {
            environment: environment.map(str::to_owned),
            events,
            held: 0,
            sent: 0,
        };
        table.open.insert(id, open);
        Ok(id)
    }

    /// Stops waiting for a call.
    pub(crate) fn abandon(&self, id: u32) {
        let mut table = self.table.lock();
        if table.open.remove(&id).is_some() {
            table.abandoned.insert(id);
        }
    }

    /// Opens the window of a call again.
    pub(crate) fn acknowledge(&self, id: u32, bytes: u32) {
        if let Some(open) = self.table.lock().open.get_mut(&id) {
            open.held = open.held.saturating_sub(bytes);
        }
    }

    /// Counts a payload, which the driver will acknowledge.
    fn count_sent(&self, id: u32, bytes: usize) {
        if let Some(open) = self.table.lock().open.get_mut(&id) {
            // A payload is never longer than a window.
            open.sent += u32::try_from(bytes).unwrap_or(WINDOW);
        }
    }

    fn open_and_heard(&self) -> (usize, u64) {
        let table = self.table.lock();
        (table.open.len(), table.heard)
    }

    fn end_error(&self, table: &Table) -> DriverError {
        DriverError::Ended {
            end: table.end.clone().unwrap_or(End::Stopped),
            error_output: self.error_output.text(),
        }
    }

    /// Closes all calls; the first reason counts.
    fn end(&self, end: End) {
        let mut table = self.table.lock();
        table.end.get_or_insert(end);
        table.open.clear();
    }

    /// Closes all calls and kills the process.
    pub(crate) fn fail(&self, end: End) {
        self.end(end);
        self.stop.abort(CancelCause::EnvironmentLost);
    }

    /// Writes frames; ends a driver that does not read one within `limit`, or that has closed its input.
    async fn write(
        &self,
        stdin: Option<Sender>,
        mut outgoing: UnboundedReceiver<Outgoing>,
        limit: Duration,
    ) {
        let Some(mut stdin) = stdin else { return };
        while let Some(Some(next)) = self.closing.run_until_cancelled(outgoing.recv()).await {
            match timeout(limit, stdin.write_all(&next.frame)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    // A driver that exits closes its input too, and its exit is the better error.
                    sleep(EXIT_AFTER_INPUT).await;
                    return self.fail(End::ClosedInput);
                }
                Err(_) => return self.fail(End::NotReading(limit)),
            }
        }
    }

    /// Ends a driver that has closed its output, unless it is about to exit anyway, which is the better error.
    async fn await_closed_output(&self) {
        self.output_closed.cancelled().await;
        sleep(EXIT_AFTER_INPUT).await;
        if !self.closing.is_cancelled() {
            self.fail(End::ClosedOutput);
        }
    }

    fn dispatch(&self, reply: Reply, payload: &[u8]) {
        let mut table = self.table.lock();
        let id = reply.id;
        let is_last = matches!(reply.part, ReplyPart::Result(_) | ReplyPart::Error(_));
        let Some(open) = table.open.get_mut(&id) else {
            let is_late = table.abandoned.contains(&id);
            if is_last {
                table.abandoned.remove(&id);
            }
            drop(table);
            if !is_late {
                self.fail(End::UnknownCall(id));
            }
            return;
        };
        let event = match reply.part {
            // Without bytes it says nothing, and would take memory until the call looks at it.
            ReplyPart::Output(_) | ReplyPart::Data(_) if payload.is_empty() => return,
            ReplyPart::Ack(Ack { bytes: 0 }) => return,
            ReplyPart::Log(_) => {
                let environment = open.environment.clone();
                drop(table);
                // Written at once, so it needs no window.
                return self.error_output.log(environment.as_deref(), payload);
            }
            ReplyPart::Ack(ack) if ack.bytes > open.sent => {
                drop(table);
                return self.fail(End::NotSent(id));
            }
            ReplyPart::Error(refusal) => Err(refusal),
            ReplyPart::Result(value) => Ok(Event::Result(value)),
            ReplyPart::Output(output) => Ok(Event::Output(output.stream, payload.to_vec())),
            ReplyPart::Data(_) => Ok(Event::Data(payload.to_vec())),
            ReplyPart::Ack(ack) => {
                open.sent -= ack.bytes;
                Ok(Event::Ack(ack.bytes))
            }
        };
        // A payload is never longer than a window.
        open.held += u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let is_flood = open.held > WINDOW;
        // The receiver is gone only together with the entry.
        let _ = open.events.send(event);
        if is_last {
            table.open.remove(&id);
        }
        drop(table);
        if is_flood {
            self.fail(End::Flood(id));
        }
    }
}

/// Receives what the process prints.
#[derive(Debug)]
struct Sink<'a> {
    shared: &'a Shared,
    decoder: Decoder,
}

impl OutputSink for Sink<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stderr {
            self.shared.error_output.push(bytes);
            return;
        }
        let shared = self.shared;
        {
            let mut table = shared.table.lock();
            if table.end.is_some() {
                return;
            }
            table.heard += 1;
        }
        let pushed = self.decoder.push(bytes, |reply: Reply, payload| {
            shared.dispatch(reply, payload);
        });
        if let Err(refused) = pushed {
            shared.fail(End::NotAFrame(refused));
        }
    }

    fn closed(&mut self, stream: Stream) {
        if stream == Stream::Stdout {
            self.shared.output_closed.cancel();
        }
    }

    fn idle(&mut self) {}
}

impl From<OutputStream> for executor_core::TraceStream {
    fn from(stream: OutputStream) -> Self {
        match stream {
            OutputStream::Stdout => Self::STDOUT,
            OutputStream::Stderr => Self::STDERR,
        }
    }
}
