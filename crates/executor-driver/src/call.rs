//! One open call.

use crate::connection::Connection;
use crate::error::DriverError;
use crate::frame::WINDOW;
use crate::message::{Ack, Empty, OutputStream, Part, Refusal, Signal, Stop};
use executor_core::Cancellation;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;

/// What a call receives.
#[derive(Debug)]
pub(crate) enum Event {
    Result(Value),
    Output(OutputStream, Vec<u8>),
    Data(Vec<u8>),
    Ack(u32),
}

/// An event, or the driver's error.
pub(crate) type Received = Result<Event, Refusal>;

/// An open call. Dropping it abandons it: its answer, if one comes, is ignored.
#[derive(Debug)]
pub(crate) struct Call {
    connection: Arc<Connection>,
    id: u32,
    name: &'static str,
    events: UnboundedReceiver<Received>,
    /// Bytes consumed and not acknowledged yet.
    consumed: u32,
}

/// How long a call may take, and how long after it was told to give up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) answer: Duration,
    pub(crate) stop: Duration,
}

/// The end of a call that can be stopped.
#[derive(Debug)]
pub(crate) enum Answer<T> {
    Result(T),
    /// The call was told to give up.
    GivenUp {
        late: Late<T>,
        /// `None` when a stop was requested.
        error: Option<DriverError>,
    },
}

/// The end of a call that was told to give up.
#[derive(Debug)]
pub(crate) enum Late<T> {
    /// Its result came nevertheless.
    Result(T),
    /// Its result may still come.
    Open(Call),
    None,
}

impl Call {
    pub(crate) fn new(
        connection: Arc<Connection>,
        id: u32,
        name: &'static str,
        events: UnboundedReceiver<Received>,
    ) -> Self {
        Self {
            connection,
            id,
            name,
            events,
            consumed: 0,
        }
    }

    /// Returns the next event; an error of the driver is an error here.
    pub(crate) async fn event(&mut self) -> Result<Event, DriverError> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    /// Polls for the next event.
    pub(crate) fn poll_event(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Event, DriverError>> {
        Poll::Ready(match ready!(self.events.poll_recv(context)) {
            Some(received) => received.map_err(|refusal| DriverError::Refused {
                call: self.name,
                refusal,
            }),
            None => Err(self.connection.end_error()),
        })
    }

    /// Acknowledges bytes of a payload, in portions of half a window.
    pub(crate) fn consumed(&mut self, bytes: usize) {
        self.consumed = self
            .consumed
            .saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        if self.consumed >= WINDOW / 2 {
            let bytes = std::mem::take(&mut self.consumed);
            self.connection.shared.acknowledge(self.id, bytes);
            self.send(Part::Ack { ack: Ack { bytes } });
        }
    }

    /// Sends a frame that belongs to this call.
    pub(crate) fn send(&self, part: Part<Empty>) {
        self.connection.send(self.id, part);
    }

    /// Sends a frame with a payload.
    pub(crate) async fn send_data(
        &self,
        part: Part<Empty>,
        payload: &[u8],
    ) -> Result<(), DriverError> {
        self.connection.send_data(self.id, part, payload).await
    }

    /// Asks the driver to end the call.
    pub(crate) fn stop(&self, signal: Signal) {
        self.send(Part::Stop {
            stop: Stop { signal },
        });
    }

    /// Waits for the result of a call that receives nothing else.
    pub(crate) async fn result<T: DeserializeOwned>(
        &mut self,
        limit: Duration,
    ) -> Result<T, DriverError> {
        let name = self.name;
        let result = async {
            loop {
                if let Event::Result(value) = self.event().await? {
                    return parse(name, value);
                }
            }
        };
        match tokio::time::timeout(limit, result).await {
            Ok(result) => result,
            Err(_) => Err(DriverError::NoAnswer { call: name, limit }),
        }
    }

    /// Waits for the result, and asks the driver to give up when a stop is requested or the time is over.
    pub(crate) async fn result_or_stop<T: DeserializeOwned>(
        mut self,
        limits: Limits,
        cancellation: &Cancellation,
    ) -> Result<Answer<T>, DriverError> {
        let result = tokio::select! {
            biased;
            _ = cancellation.canceled() => None,
            result = self.result(limits.answer) => Some(result),
        };
        let error = match result {
            None => None,
            Some(Err(error @ DriverError::NoAnswer { .. })) => Some(error),
            Some(result) => return result.map(Answer::Result),
        };
        self.stop(Signal::Kill);
        let late = match self.result(limits.stop).await {
            Ok(result) => Late::Result(result),
            Err(DriverError::NoAnswer { .. }) => Late::Open(self),
            Err(_) => Late::None,
        };
        Ok(Answer::GivenUp { late, error })
    }
}

/// Reads the result of a call.
pub(crate) fn parse<T: DeserializeOwned>(
    call: &'static str,
    value: Value,
) -> Result<T, DriverError> {
    serde_json::from_value(value).map_err(|error| DriverError::Answer {
        call,
        why: error.to_string(),
    })
}

impl Drop for Call {
    fn drop(&mut self) {
        self.connection.shared.abandon(self.id);
    }
}
