//! The thread of a connection: it moves bytes between the session's channels and their queues.
//!
//! libssh2 demands that a call which could not send its whole packet is repeated before anything else is sent. Such a call
//! is *blocked*, and until it succeeds the thread repeats it alone. A call that waits for the host holds up nothing.

use super::channel::{Event, Exit, Input, Outlet};
use super::step::{Step, is_of_connection, step, step_io};
use super::{Order, OrderKind, Shared};
use crate::error::SshError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use ssh2::Session;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

/// The size of one piece of bytes: the largest packet of libssh2.
pub(super) const PIECE: usize = 32 * 1024;

/// How many pieces a channel moves in one turn.
const PIECES: usize = 8;

/// After how many keepalives in a row without an answer, or pauses as long without progress of a write, a connection is
/// broken.
const UNANSWERED: u32 = 3;

/// The end of the whole connection.
struct Broken;

pub(super) struct Worker<'s> {
    session: Session,
    socket: OwnedFd,
    shared: &'s Shared,
    opening: Option<Opening>,
    channels: Vec<Live>,
    /// Whose call has to be repeated first.
    blocked: Option<Blocked>,
    keepalive: Duration,
    last_traffic: Instant,
    /// The keepalives since the last bytes from the host, sent or, while a write is blocked, due.
    unanswered: u32,
    buffer: Vec<u8>,
}

/// Whose call could not send its whole packet.
#[derive(Clone, Copy)]
enum Blocked {
    /// The channel that is being opened.
    Opening,
    /// The open channel with this index.
    Channel(usize),
}

/// A channel that is being opened.
struct Opening {
    order: Order,
    channel: Option<ssh2::Channel>,
    has_pty: bool,
}

/// An open channel.
struct Live {
    channel: ssh2::Channel,
    input: mpsc::Receiver<Input>,
    /// What is being sent, and how much of it was.
    sending: Option<(Input, usize)>,
    input_ended: bool,
    eof_sent: bool,
    output: Outlet,
    /// An event for which there was no place.
    held: Option<Event>,
    close: CloseState,
    /// The call to repeat first.
    blocked: Option<Call>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CloseState {
    Open,
    Closing,
    Closed,
    /// The end was reported.
    Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Send,
    Eof,
    Read(i32),
    Close,
    AwaitClose,
}

impl<'s> Worker<'s> {
    pub(super) fn new(
        session: Session,
        socket: OwnedFd,
        shared: &'s Shared,
        keepalive: u32,
    ) -> Self {
        session.set_keepalive(true, keepalive);
        Self {
            session,
            socket,
            shared,
            opening: None,
            channels: Vec::new(),
            blocked: None,
            keepalive: Duration::from_secs(keepalive.into()),
            last_traffic: Instant::now(),
            unanswered: 0,
            buffer: vec![0; PIECE],
        }
    }

    /// Runs until the connection is closed or breaks.
    pub(super) fn run(mut self) {
        let ended = self.serve();
        let broke = ended.is_err();
        if broke {
            // Users that notice it open another connection, so it must be known as broken by then.
            self.shared.end();
            // The last messages of the channels must not wait for a host that does not read.
            let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        }
        drop(self.opening.take());
        self.channels.clear();
        if !broke {
            self.session.set_blocking(true);
            self.session.set_timeout(1_000);
            let _ = self.session.disconnect(None, "", None);
        }
    }

    fn serve(&mut self) -> Result<(), Broken> {
        loop {
            self.shared.wake.reset();
            if self.shared.has_ended() {
                return Err(Broken);
            }
            let moved = self.turn()?;
            if self.shared.is_closed() && self.channels.is_empty() && self.opening.is_none() {
                return Ok(());
            }
            if !moved {
                self.wait()?;
            }
        }
    }

    /// Lets each channel move some bytes; returns whether one did.
    fn turn(&mut self) -> Result<bool, Broken> {
        let mut moved = false;
        if let Some(blocked) = self.blocked.take() {
            // The channel of the call goes on first; if it stays blocked, all others wait.
            moved |= match blocked {
                Blocked::Channel(index) => self.turn_channel(index)?,
                Blocked::Opening => self.open()?,
            };
            if self.blocked.is_some() {
                return Ok(moved);
            }
        }
        moved |= self.open()?;
        for index in 0..self.channels.len() {
            if self.blocked.is_some() {
                break;
            }
            moved |= self.turn_channel(index)?;
        }
        if self.blocked.is_none() {
            self.channels.retain(|live| live.close != CloseState::Over);
        }
        if moved {
            self.last_traffic = Instant::now();
        }
        Ok(moved)
    }

    fn turn_channel(&mut self, index: usize) -> Result<bool, Broken> {
        let live = &mut self.channels[index];
        let moved = live.turn(&self.session, &mut self.buffer)?;
        if live.blocked.is_some() {
            self.blocked = Some(Blocked::Channel(index));
        }
        Ok(moved)
    }

    /// Continues with the opening of a channel.
    fn open(&mut self) -> Result<bool, Broken> {
        if self.opening.is_none() {
            self.opening = self.shared.next_order().map(|order| Opening {
                order,
                channel: None,
                has_pty: false,
            });
        }
        let Some(opening) = &mut self.opening else {
            return Ok(false);
        };
        match opening.step(&self.session) {
            Ok(Step::Waits) => Ok(false),
            Ok(Step::Blocked) => {
                self.blocked = Some(Blocked::Opening);
                Ok(false)
            }
            Ok(Step::Done(())) => {
                if let Some(Opening {
                    order,
                    channel: Some(channel),
                    ..
                }) = self.opening.take()
                {
                    // If the user is gone, the channel closes itself.
                    let _ = order.reply.send(Ok(()));
                    self.channels
                        .push(Live::new(channel, order.input, order.output));
                }
                Ok(true)
            }
            Err(error) if is_of_connection(&error) => Err(Broken),
            Err(error) => {
                if let Some(opening) = self.opening.take() {
                    let what = match (&opening.order.kind, &opening.channel) {
                        (OrderKind::Tunnel { .. }, _) => "a connection through it",
                        (_, None) => "another channel",
                        (_, Some(_)) => "a command",
                    };
                    let refused = SshError::Refused {
                        host: self.shared.address.clone(),
                        what,
                        source: error.into(),
                    };
                    let _ = opening.order.reply.send(Err(refused));
                }
                Ok(true)
            }
        }
    }

    /// Waits for the host, for the users of the connection, or for the next keepalive.
    fn wait(&mut self) -> Result<(), Broken> {
        let idle = self.last_traffic.elapsed();
        if idle >= self.keepalive {
            // Its system may answer for a host that has stopped.
            if self.unanswered == UNANSWERED {
                return Err(Broken);
            }
            // A keepalive would come before the call to repeat.
            if self.blocked.is_none() {
                self.session.keepalive_send().map_err(|_| Broken)?;
            }
            self.last_traffic = Instant::now();
            self.unanswered += 1;
        }
        let left = self.keepalive.saturating_sub(self.last_traffic.elapsed());
        let flags = self.awaited();
        if flags.is_empty() || flags == PollFlags::RDHUP {
            // An answer would not be seen.
            self.unanswered = 0;
        }
        let wake = PollFd::from_borrowed_fd(self.shared.wake.fd().as_fd(), PollFlags::IN);
        let mut fds = vec![wake];
        if !flags.is_empty() {
            fds.push(PollFd::from_borrowed_fd(self.socket.as_fd(), flags));
        }
        let timeout = Timespec::try_from(left + Duration::from_millis(10)).unwrap_or(Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        });
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(_) => Err(Broken),
        }?;
        let ready = fds.get(1).map_or(PollFlags::empty(), PollFd::revents);
        if ready.is_empty() {
            return Ok(());
        }
        self.last_traffic = Instant::now();
        self.unanswered = 0;
        if ready.contains(PollFlags::IN) {
            self.shared.note_heard();
        }
        // Without a channel no call would notice the end.
        if flags == PollFlags::RDHUP {
            return Err(Broken);
        }
        Ok(())
    }

    /// Returns the events of the socket that let a call go on. Any other event would be reported again and again, as no
    /// call takes it.
    fn awaited(&self) -> PollFlags {
        if self.blocked.is_some() {
            PollFlags::OUT
        } else if self.opening.is_some() || self.channels.iter().any(Live::takes_input) {
            PollFlags::IN
        } else if self.channels.is_empty() {
            PollFlags::RDHUP
        } else {
            // All readers are slow; they wake this thread.
            PollFlags::empty()
        }
    }
}

impl Opening {
    fn step(&mut self, session: &Session) -> Result<Step<()>, ssh2::Error> {
        if self.channel.is_none() {
            let opened = match &self.order.kind {
                OrderKind::Exec { .. } => session.channel_session(),
                OrderKind::Tunnel { host, port } => session.channel_direct_tcpip(host, *port, None),
            };
            match step(session, opened)? {
                Step::Done(channel) => self.channel = Some(channel),
                Step::Waits => return Ok(Step::Waits),
                Step::Blocked => return Ok(Step::Blocked),
            }
        }
        let (Some(channel), OrderKind::Exec { command, pty }) =
            (&mut self.channel, &self.order.kind)
        else {
            return Ok(Step::Done(()));
        };
        if let (Some(pty), false) = (pty, self.has_pty) {
            let size = (u32::from(pty.size.columns), u32::from(pty.size.rows), 0, 0);
            match step(session, channel.request_pty(&pty.term, None, Some(size)))? {
                Step::Done(()) => self.has_pty = true,
                other => return Ok(other),
            }
        }
        step(session, channel.exec(command))
    }
}

impl Live {
    fn new(channel: ssh2::Channel, input: mpsc::Receiver<Input>, output: Outlet) -> Self {
        Self {
            channel,
            input,
            sending: None,
            input_ended: false,
            eof_sent: false,
            output,
            held: None,
            close: CloseState::Open,
            blocked: None,
        }
    }

    /// Returns whether a call of this channel reads from the socket.
    fn takes_input(&self) -> bool {
        match self.close {
            CloseState::Open => self.held.is_none() || self.sending.is_some(),
            CloseState::Closing => true,
            CloseState::Closed | CloseState::Over => false,
        }
    }

    /// Moves some bytes; returns whether there was something to do.
    fn turn(&mut self, session: &Session, buffer: &mut [u8]) -> Result<bool, Broken> {
        let mut moved = false;
        if let Some(call) = self.blocked.take() {
            moved |= self.call(call, session, buffer)?;
            if self.blocked.is_some() {
                return Ok(moved);
            }
        }
        for call in [
            Call::Send,
            Call::Eof,
            Call::Read(0),
            Call::Read(1),
            Call::Close,
            Call::AwaitClose,
        ] {
            for _ in 0..PIECES {
                if !self.call(call, session, buffer)? {
                    break;
                }
                moved = true;
            }
            if self.blocked.is_some() {
                break;
            }
        }
        Ok(moved)
    }

    /// Makes a call if it is due; returns whether it did something.
    fn call(&mut self, call: Call, session: &Session, buffer: &mut [u8]) -> Result<bool, Broken> {
        match call {
            Call::Send => self.send(session),
            Call::Eof => self.send_eof(session),
            Call::Read(stream) => self.read(stream, session, buffer),
            Call::Close => self.send_close(session),
            Call::AwaitClose => self.await_close(session),
        }
    }

    /// Returns the value of a call that is done; records one that is blocked.
    fn note<T>(
        &mut self,
        call: Call,
        result: Result<Step<T>, ssh2::Error>,
    ) -> Result<Option<T>, Failure> {
        match result {
            Ok(Step::Done(value)) => Ok(Some(value)),
            Ok(Step::Waits) => Ok(None),
            Ok(Step::Blocked) => {
                self.blocked = Some(call);
                Ok(None)
            }
            Err(error) if is_of_connection(&error) => Err(Failure::Connection),
            Err(_) => Err(Failure::Channel),
        }
    }

    fn send(&mut self, session: &Session) -> Result<bool, Broken> {
        if self.close != CloseState::Open || self.eof_sent {
            return Ok(false);
        }
        if self.sending.is_none() {
            self.sending = match self.input.try_recv() {
                Ok(input) => Some((input, 0)),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => {
                    self.input_ended = true;
                    None
                }
            };
        }
        let Some((input, sent)) = &mut self.sending else {
            return Ok(false);
        };
        let written = match input {
            Input::Bytes(bytes) => {
                let written = step_io(session, self.channel.write(&bytes[*sent..]));
                written.map(|step| match step {
                    Step::Done(count) => {
                        *sent += count;
                        Step::Done(*sent == bytes.len())
                    }
                    Step::Waits => Step::Waits,
                    Step::Blocked => Step::Blocked,
                })
            }
            Input::Resize(size) => {
                let (columns, rows) = (u32::from(size.columns), u32::from(size.rows));
                let resized = self.channel.request_pty_size(columns, rows, None, None);
                step(session, resized).map(|step| match step {
                    Step::Done(()) => Step::Done(true),
                    Step::Waits => Step::Waits,
                    Step::Blocked => Step::Blocked,
                })
            }
        };
        match self.note(Call::Send, written) {
            Ok(Some(all)) => {
                if all {
                    self.sending = None;
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(Failure::Connection) => Err(Broken),
            // The command does not read any more.
            Err(Failure::Channel) => {
                self.input.close();
                self.sending = None;
                self.eof_sent = true;
                Ok(true)
            }
        }
    }

    fn send_eof(&mut self, session: &Session) -> Result<bool, Broken> {
        let is_due = self.input_ended && self.sending.is_none() && !self.eof_sent;
        if !is_due || self.close != CloseState::Open {
            return Ok(false);
        }
        let sent = step(session, self.channel.send_eof());
        match self.note(Call::Eof, sent) {
            Ok(None) => Ok(false),
            Err(Failure::Connection) => Err(Broken),
            Ok(Some(())) | Err(Failure::Channel) => {
                self.eof_sent = true;
                Ok(true)
            }
        }
    }

    fn read(&mut self, stream: i32, session: &Session, buffer: &mut [u8]) -> Result<bool, Broken> {
        if let Some(held) = self.held.take() {
            self.held = self.output.send(held).err();
        }
        if self.held.is_some() || self.close == CloseState::Over || self.output.is_closed() {
            return Ok(false);
        }
        let read = step_io(session, self.channel.stream(stream).read(buffer));
        match self.note(Call::Read(stream), read) {
            Ok(Some(count @ 1..)) => {
                let bytes = buffer[..count].to_vec();
                let event = match stream {
                    0 => Event::Stdout(bytes),
                    _ => Event::Stderr(bytes),
                };
                self.held = self.output.send(event).err();
                Ok(true)
            }
            Ok(Some(_) | None) | Err(Failure::Channel) => Ok(false),
            Err(Failure::Connection) => Err(Broken),
        }
    }

    fn send_close(&mut self, session: &Session) -> Result<bool, Broken> {
        let is_due = self.output.is_closed() || (self.held.is_none() && self.channel.eof());
        if self.close != CloseState::Open || !is_due {
            return Ok(false);
        }
        let closed = step(session, self.channel.close());
        match self.note(Call::Close, closed) {
            Ok(None) => Ok(false),
            Err(Failure::Connection) => Err(Broken),
            Ok(Some(())) | Err(Failure::Channel) => {
                self.close = CloseState::Closing;
                Ok(true)
            }
        }
    }

    fn await_close(&mut self, session: &Session) -> Result<bool, Broken> {
        if self.close == CloseState::Closing {
            if self.output.is_closed() {
                // The host closes its end later.
                self.close = CloseState::Over;
                return Ok(true);
            }
            let closed = step(session, self.channel.wait_close());
            match self.note(Call::AwaitClose, closed) {
                Ok(None) => return Ok(false),
                Err(Failure::Connection) => return Err(Broken),
                Ok(Some(())) | Err(Failure::Channel) => {}
            }
            self.close = CloseState::Closed;
            let signal = self.channel.exit_signal().ok();
            self.held = Some(Event::Ended(Exit {
                code: self.channel.exit_status().unwrap_or(-1),
                signal: signal.and_then(|it| it.exit_signal),
            }));
        }
        if self.close != CloseState::Closed {
            return Ok(false);
        }
        if let Some(held) = self.held.take() {
            self.held = self.output.send(held).err();
        }
        if self.held.is_none() {
            self.close = CloseState::Over;
        }
        Ok(self.held.is_none())
    }
}

enum Failure {
    Channel,
    Connection,
}
