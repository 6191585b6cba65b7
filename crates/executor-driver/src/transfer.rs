//! Files of an environment, as tar streams.

use crate::call::{Call, Event};
use crate::error::DriverError;
use crate::frame::{CHUNK, WINDOW};
use crate::held::Held;
use crate::message::{Data, Get, Part, Put, Signal};
use executor_core::ability::{ByteStream, FileTransfer};
use executor_core::{BuildError, Cancellation};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// Transfers files by the driver's capability `files`.
#[derive(Debug)]
pub(crate) struct DriverFiles(pub(crate) Arc<Held>);

impl DriverFiles {
    /// Sends an archive, as far as the driver's window allows, and waits for the result.
    async fn send(&self, call: &mut Call, mut archive: ByteStream) -> Result<(), BuildError> {
        let limit = self.0.driver.config.call_timeout;
        let name = "put";
        let no_answer = |_| DriverError::NoAnswer { call: name, limit };
        let mut chunk = vec![0; CHUNK];
        let mut room = WINDOW;
        loop {
            // Without room only an acknowledgement helps; otherwise an error may come at any time.
            while usize::try_from(room).unwrap_or(usize::MAX) < CHUNK {
                match timeout(limit, call.event()).await.map_err(no_answer)?? {
                    Event::Ack(bytes) => room += bytes,
                    Event::Result(_) => return Err(DriverError::Unread.into()),
                    Event::Data(_) | Event::Output(..) => {}
                }
            }
            let read = archive.read(&mut chunk).await;
            let read =
                read.map_err(|error| BuildError::system("driver", "read an archive", error))?;
            let data = Data { last: read == 0 };
            call.send_data(Part::Data { data }, &chunk[..read]).await?;
            room -= u32::try_from(read).unwrap_or(WINDOW);
            if read == 0 {
                break;
            }
        }
        loop {
            match timeout(limit, call.event()).await.map_err(no_answer)?? {
                Event::Ack(bytes) => room = room.saturating_add(bytes),
                Event::Result(_) if room < WINDOW => return Err(DriverError::Unread.into()),
                Event::Result(_) => return Ok(()),
                Event::Data(_) | Event::Output(..) => {}
            }
        }
    }
}

#[async_trait::async_trait]
impl FileTransfer for DriverFiles {
    async fn put(
        &self,
        directory: &str,
        archive: ByteStream,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        cancellation.check()?;
        let params = Put {
            environment: &self.0.name,
            directory,
        };
        let connection = self.0.connection().await?;
        let mut call = connection
            .call_for(&self.0.name, "put", params, &[])
            .await?;
        let sent = tokio::select! {
            biased;
            cause = cancellation.canceled() => Err(cause.into()),
            sent = self.send(&mut call, archive) => sent,
        };
        if sent.is_err() {
            call.stop(Signal::Kill);
        }
        sent
    }

    async fn get(
        &self,
        directory: &str,
        paths: &[String],
        cancellation: &Cancellation,
    ) -> Result<ByteStream, BuildError> {
        cancellation.check()?;
        let params = Get {
            environment: &self.0.name,
            directory,
            paths,
        };
        let connection = self.0.connection().await?;
        let limit = self.0.driver.config.call_timeout;
        let mut call = connection
            .call_for(&self.0.name, "get", params, &[])
            .await?;
        let first = tokio::select! {
            biased;
            cause = cancellation.canceled() => {
                call.stop(Signal::Kill);
                return Err(cause.into());
            }
            first = timeout(limit, call.event()) => first,
        };
        let first = first.map_err(|_| DriverError::NoAnswer { call: "get", limit })??;
        let mut stream = ReceivedArchive {
            call,
            chunk: Vec::new(),
            read: 0,
            is_done: false,
            limit,
            silence: Box::pin(sleep(limit)),
        };
        stream.accept(first);
        Ok(Box::new(stream))
    }
}

/// An archive that the driver sends.
#[derive(Debug)]
struct ReceivedArchive {
    call: Call,
    chunk: Vec<u8>,
    /// How much of the chunk was read.
    read: usize,
    is_done: bool,
    limit: Duration,
    /// How long the driver may be silent while the reader waits.
    silence: Pin<Box<Sleep>>,
}

impl ReceivedArchive {
    fn accept(&mut self, event: Event) {
        match event {
            Event::Data(bytes) => {
                self.chunk = bytes;
                self.read = 0;
            }
            Event::Result(_) => self.is_done = true,
            _ => {}
        }
    }
}

impl AsyncRead for ReceivedArchive {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        loop {
            if stream.read < stream.chunk.len() {
                let rest = &stream.chunk[stream.read..];
                let taken = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..taken]);
                stream.read += taken;
                stream.call.consumed(taken);
                return Poll::Ready(Ok(()));
            }
            if stream.is_done {
                return Poll::Ready(Ok(()));
            }
            match stream.call.poll_event(context) {
                Poll::Ready(Ok(event)) => {
                    stream.silence.as_mut().reset(Instant::now() + stream.limit);
                    stream.accept(event);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                Poll::Pending => {
                    std::task::ready!(stream.silence.as_mut().poll(context));
                    let (call, limit) = ("get", stream.limit);
                    let error = DriverError::NoAnswer { call, limit };
                    return Poll::Ready(Err(io::Error::other(error)));
                }
            }
        }
    }
}

/// A reader that gives up in the middle ends the call.
impl Drop for ReceivedArchive {
    fn drop(&mut self) {
        if !self.is_done {
            self.call.stop(Signal::Kill);
        }
    }
}
