//! A command in a container, as one stream over a WebSocket.
//!
//! `kube` has such a stream. It sends its input in pieces of 4 KiB, one flush each, so the upload of the agent takes three times as long, and it
//! stops reading while input waits to be written.

use crate::cluster::{ANSWER, Cluster};
use crate::error::KubernetesError;
use crate::pod::BUILD;
use executor_core::ability::TerminalSize;
use executor_core::{ExitCode, Retryability, StageStatus};
use futures_util::{Sink, SinkExt, StreamExt, ready};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::AttachParams;
use process::Stream;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{
    AsyncBufRead, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy_buf,
};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Bytes, Message};

/// The first byte of a message: what the rest belongs to.
const INPUT: u8 = 0;
const OUTPUT: u8 = 1;
const ERRORS: u8 = 2;
const STATUS: u8 = 3;
const SIZE: u8 = 4;
const CLOSE: u8 = 255;

/// The most input in one message.
const PIECE: usize = 64 * 1024;

/// How much of the standard error is kept.
const KEPT: usize = 2 * 1024;

/// The streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Input, output and errors.
    Pipes,
    /// A terminal, whose output has the errors, too.
    Terminal,
}

/// Starts commands in the container of a job.
#[derive(Debug, Clone)]
pub(crate) struct PodExec {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) pod: String,
}

impl PodExec {
    /// Starts a command.
    pub(crate) async fn start(
        &self,
        command: &[&str],
        streams: Streams,
    ) -> Result<Exec, KubernetesError> {
        let started = Exec::start(&self.cluster.pods, &self.pod, command, streams);
        let started = timeout(ANSWER, started).await;
        let started = started.map_err(|_| self.broken("the API server does not answer"))?;
        started.map_err(|error| KubernetesError::of("reach the pod", error))
    }

    /// Runs a script with this input to its end; returns its output.
    ///
    /// # Errors
    ///
    /// When it fails, with its standard error, or has not ended in time.
    pub(crate) async fn run(
        &self,
        script: &str,
        input: &[u8],
        within: Duration,
    ) -> Result<String, KubernetesError> {
        // The end of the input cannot be sent to every API server.
        let script = match input.len() {
            0 => format!("{{ {script}\n}} </dev/null"),
            // The status of a command does not come as long as input waits that nothing reads.
            count => format!(
                "head -c {count} | {{ (\n{script}\n)\ncode=$?\ncat >/dev/null\nexit $code\n}}"
            ),
        };
        self.run_command(&["sh", "-c", &script], input, within)
            .await
    }

    /// Runs a command to its end, as [`run`](Self::run) does a script. The end of the input is not sent.
    pub(crate) async fn run_command(
        &self,
        command: &[&str],
        input: impl AsyncBufRead + Unpin,
        within: Duration,
    ) -> Result<String, KubernetesError> {
        let ended = timeout(within, self.run_to_end(command, input)).await;
        ended.unwrap_or_else(|_| {
            let seconds = within.as_secs();
            Err(self.broken(&format!("it does not answer within {seconds} s")))
        })
    }

    async fn run_to_end(
        &self,
        command: &[&str],
        mut bytes: impl AsyncBufRead + Unpin,
    ) -> Result<String, KubernetesError> {
        let process = self.start(command, Streams::Pipes).await?;
        let (mut output, mut input) = tokio::io::split(process);
        let sending = async {
            // The reason why it is not taken follows on the output.
            if copy_buf(&mut bytes, &mut input).await.is_ok() {
                let _ = input.flush().await;
            }
            std::future::pending::<Infallible>().await
        };
        let mut printed = Vec::new();
        let read = tokio::select! {
            // A command that has ended takes no more.
            read = output.read_to_end(&mut printed) => read,
            never = sending => match never {},
        };
        let process = output.unsplit(input);
        match read {
            Ok(_) if process.has_succeeded() => Ok(String::from_utf8_lossy(&printed).into_owned()),
            Ok(_) => Err(self.failed(&process)),
            Err(error) => Err(self.broken(&format!("{error} {}", process.reason()))),
        }
    }

    /// Returns the error of a command whose output has ended. One that failed by its exit code is not tried again. Without a code it was cut
    /// off, or its node could not run it now.
    pub(crate) fn failed(&self, process: &Exec) -> KubernetesError {
        match (self.broken(&process.reason()), process.exit()) {
            (KubernetesError::Pod { name, reason, .. }, Some(_)) => KubernetesError::Pod {
                name,
                reason,
                retry: Retryability::Permanent,
            },
            (error, _) => error,
        }
    }

    /// Returns the error of a pod that may be reached again.
    pub(crate) fn broken(&self, reason: &str) -> KubernetesError {
        let reason = if reason.is_empty() {
            "the connection broke"
        } else {
            reason
        };
        KubernetesError::Pod {
            name: self.pod.clone(),
            reason: reason.to_owned(),
            retry: Retryability::Temporary,
        }
    }
}

/// The messages of a WebSocket.
trait Messages:
    futures_util::Stream<Item = Result<Message, tungstenite::Error>>
    + Sink<Message, Error = tungstenite::Error>
    + Send
    + Unpin
{
}

impl<T> Messages for T where
    T: futures_util::Stream<Item = Result<Message, tungstenite::Error>>
        + Sink<Message, Error = tungstenite::Error>
        + Send
        + Unpin
{
}

/// A command: reading is its standard output, writing its standard input. Its connection ends when this is dropped.
pub(crate) struct Exec {
    messages: Box<dyn Messages>,
    /// Whether the end of the input can be sent without that of the connection.
    can_close_input: bool,
    /// Output that was received and not read.
    received: Bytes,
    received_errors: Bytes,
    /// The start of the standard error.
    errors: Vec<u8>,
    status: Option<Status>,
    has_ended: bool,
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec").finish_non_exhaustive()
    }
}

impl Exec {
    async fn start(
        pods: &Api<Pod>,
        pod: &str,
        command: &[&str],
        streams: Streams,
    ) -> Result<Self, kube::Error> {
        let params = AttachParams::default()
            .container(BUILD)
            .stdin(true)
            // Not redirected by a script either: containerd ends the input of a command that closes its standard error.
            .stderr(streams == Streams::Pipes)
            .tty(streams == Streams::Terminal);
        let request = kube::core::Request::new(pods.resource_url());
        let request: Request<_> = request
            .exec(pod, command.iter().copied(), &params)
            .map_err(kube::Error::BuildRequest)?;
        let connection = pods.clone().into_client().connect(request).await?;
        Ok(Self {
            can_close_input: connection.supports_stream_close(),
            messages: Box::new(connection.into_stream()),
            received: Bytes::new(),
            received_errors: Bytes::new(),
            errors: Vec::new(),
            status: None,
            has_ended: false,
        })
    }

    /// Returns whether the command ended with success, once its output has ended.
    pub(crate) fn has_succeeded(&self) -> bool {
        let status = self.status.as_ref().and_then(|it| it.status.as_deref());
        status == Some("Success")
    }

    /// Returns how the command ended, once its output has; `None` if its connection broke, or it could not be started.
    pub(crate) fn exit(&self) -> Option<StageStatus> {
        if self.has_succeeded() {
            return Some(StageStatus::Exited(ExitCode::SUCCESS));
        }
        let details = self.status.as_ref()?.details.as_ref()?;
        let mut causes = details.causes.iter().flatten();
        let cause = causes.find(|it| it.reason.as_deref() == Some("ExitCode"))?;
        let code = cause.message.as_ref()?.parse().ok()?;
        Some(StageStatus::Exited(ExitCode(code)))
    }

    /// Returns what is known of the end of the command: the start of its standard error, and the words of Kubernetes.
    pub(crate) fn reason(&self) -> String {
        let errors = String::from_utf8_lossy(&self.errors);
        let message = self.status.as_ref().and_then(|it| it.message.as_deref());
        let known = [errors.trim(), message.unwrap_or_default()];
        known.join(" ").trim().to_owned()
    }

    /// Sends sizes of the command's terminal, as far as possible now. Another size wakes the task.
    pub(crate) fn poll_resize(
        &mut self,
        cx: &mut Context<'_>,
        sizes: &mut mpsc::UnboundedReceiver<TerminalSize>,
    ) -> Poll<Result<(), tungstenite::Error>> {
        loop {
            ready!(self.messages.poll_ready_unpin(cx))?;
            let Poll::Ready(Some(TerminalSize { columns, rows })) = sizes.poll_recv(cx) else {
                return self.messages.poll_flush_unpin(cx);
            };
            let size = serde_json::json!({ "Width": columns, "Height": rows });
            let mut message = vec![SIZE];
            message.extend_from_slice(size.to_string().as_bytes());
            self.messages.start_send_unpin(Message::binary(message))?;
        }
    }

    /// Receives the next output, and sends `input` meanwhile; `None` once the output has ended.
    pub(crate) async fn next(&mut self, input: &mut Bytes) -> io::Result<Option<(Stream, Bytes)>> {
        std::future::poll_fn(|cx| {
            while !input.is_empty()
                && let Poll::Ready(sent) = Pin::new(&mut *self).poll_write(cx, input)
            {
                match sent {
                    Ok(count) => drop(input.split_to(count)),
                    // The reason follows on the output.
                    Err(_) => input.clear(),
                }
            }
            let _ = Pin::new(&mut *self).poll_flush(cx);
            self.poll_output(cx)
        })
        .await
    }

    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<(Stream, Bytes)>>> {
        loop {
            for (stream, received) in [
                (Stream::Stdout, &mut self.received),
                (Stream::Stderr, &mut self.received_errors),
            ] {
                if !received.is_empty() {
                    let piece = std::mem::take(received);
                    return Poll::Ready(Ok(Some((stream, piece))));
                }
            }
            if self.has_ended {
                return Poll::Ready(Ok(None));
            }
            ready!(self.poll_message(cx))?;
        }
    }

    /// Receives the next message.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let message = match ready!(self.messages.poll_next_unpin(cx)) {
            Some(Ok(Message::Binary(message))) => message,
            Some(Ok(Message::Close(_))) | None => {
                self.has_ended = true;
                return Poll::Ready(Ok(()));
            }
            Some(Ok(_)) => return Poll::Ready(Ok(())),
            Some(Err(error)) => {
                self.has_ended = true;
                return Poll::Ready(Err(io::Error::other(error)));
            }
        };
        let content = message.slice(message.len().min(1)..);
        match message.first() {
            Some(&OUTPUT) => self.received = content,
            Some(&ERRORS) => {
                let room = KEPT - self.errors.len();
                self.errors.extend(content.iter().take(room));
                self.received_errors = content;
            }
            Some(&STATUS) if !content.is_empty() => {
                self.status = serde_json::from_slice(&content).ok();
                self.has_ended = true;
            }
            _ => {}
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Exec {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.received.is_empty() {
            if self.has_ended {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_message(cx))?;
        }
        let count = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Exec {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.messages.poll_ready_unpin(cx)).map_err(io::Error::other)?;
        let piece = &bytes[..bytes.len().min(PIECE)];
        let mut message = Vec::with_capacity(piece.len() + 1);
        message.push(INPUT);
        message.extend_from_slice(piece);
        let sent = self.messages.start_send_unpin(Message::binary(message));
        Poll::Ready(sent.map(|()| piece.len()).map_err(io::Error::other))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.messages.poll_flush_unpin(cx).map_err(io::Error::other)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.can_close_input {
            return self.messages.poll_close_unpin(cx).map_err(io::Error::other);
        }
        ready!(self.messages.poll_ready_unpin(cx)).map_err(io::Error::other)?;
        let end = Message::binary(vec![CLOSE, INPUT]);
        self.messages
            .start_send_unpin(end)
            .map_err(io::Error::other)?;
        self.can_close_input = false;
        self.poll_flush(cx)
    }
}
