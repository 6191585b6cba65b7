use super::access::Connected;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use executor_core::ability::{TerminalSession, TerminalSize};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message};

/// The size of each terminal: GitLab's protocol has no message for it.
pub(super) const SIZE: TerminalSize = TerminalSize {
    columns: 80,
    rows: 24,
};

/// The largest message, in bytes; GitLab sends what is typed.
const LARGEST: usize = 1 << 20;

/// How often the other side is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

/// How long the other side may take to close the connection.
const CLOSING: Duration = Duration::from_secs(1);

/// How the bytes of a terminal are in messages: a subprotocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Binary,
    Base64,
}

impl Encoding {
    /// Returns the first that a client offers in `Sec-WebSocket-Protocol`.
    pub(super) fn of_offer(offer: &str) -> Option<Self> {
        let of_name = |name: &str| match name.trim() {
            "terminal.gitlab.com" => Some(Self::Binary),
            "base64.terminal.gitlab.com" => Some(Self::Base64),
            _ => None,
        };
        offer.split(',').find_map(of_name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Binary => "terminal.gitlab.com",
            Self::Base64 => "base64.terminal.gitlab.com",
        }
    }

    fn message(self, bytes: &[u8]) -> Message {
        match self {
            Self::Binary => Message::Binary(Bytes::copy_from_slice(bytes)),
            Self::Base64 => Message::Text(STANDARD.encode(bytes).into()),
        }
    }

    /// Returns the bytes of a message; `None` if it has none that can be read.
    fn bytes(self, message: Message) -> Option<Bytes> {
        if !matches!(message, Message::Binary(_) | Message::Text(_)) {
            return None;
        }
        let data = message.into_data();
        match self {
            Self::Binary => Some(data),
            Self::Base64 => STANDARD.decode(&data).ok().map(Bytes::from),
        }
    }
}

/// A shell, and the connection that its user will have.
pub(super) struct OpenTerminal {
    pub(super) shell: Box<dyn TerminalSession>,
    pub(super) upgrade: OnUpgrade,
    pub(super) encoding: Encoding,
    pub(super) connected: Connected,
}

impl OpenTerminal {
    /// Copies both ways until the shell, the connection or the session ends, and ends all of them.
    pub(super) async fn run(self) {
        let Self {
            shell,
            upgrade,
            encoding,
            connected,
        } = self;
        let Ok(upgraded) = upgrade.await else {
            return;
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let stream = TokioIo::new(upgraded);
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let (mut sink, mut messages) = socket.split();
        let (mut output, mut input) = tokio::io::split(shell);
        let is_heard = AtomicBool::new(true);
        let typed = async {
            while let Some(Ok(message)) = messages.next().await {
                is_heard.store(true, Ordering::Relaxed);
                if let Some(bytes) = encoding.bytes(message) {
                    // A shell that takes no more has ended, and may still have something to show.
                    let _ = input.write_all(&bytes).await;
                }
            }
        };
        let shown = async {
            let mut buffer = vec![0; 8 << 10];
            let mut ping = interval_at(Instant::now() + PING, PING);
            loop {
                let message = tokio::select! {
                    read = output.read(&mut buffer) => match read {
                        Ok(read) if read > 0 => encoding.message(&buffer[..read]),
                        _ => return,
                    },
                    _ = ping.tick() => {
                        if !is_heard.swap(false, Ordering::Relaxed) {
                            return;
                        }
                        Message::Ping(Bytes::new())
                    }
                };
                if sink.send(message).await.is_err() {
                    return;
                }
            }
        };
        let session = &connected.0;
        let job = session.job.get().map_or(0, |job| job.0);
        tracing::info!(job, "Terminal opened.");
        tokio::select! {
            () = typed => {}
            () = shown => {}
            _ = session.closed.canceled() => {}
        }
        // The shell ends before the session counts as free.
        drop((output, input));
        tracing::info!(job, "Terminal closed.");
        let closed = async {
            if sink.close().await.is_ok() {
                while messages.next().await.is_some_and(|it| it.is_ok()) {}
            }
        };
        let _ = timeout(CLOSING, closed).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_known_subprotocol_is_used() {
        let check = |offer: &str, expect: Option<&str>| {
            assert_eq!(Encoding::of_offer(offer).map(Encoding::name), expect);
        };
        check("terminal.gitlab.com", Some("terminal.gitlab.com"));
        check(
            "chat, base64.terminal.gitlab.com , terminal.gitlab.com",
            Some("base64.terminal.gitlab.com"),
        );
        check("chat", None);
        check("", None);
    }

    #[test]
    fn messages_carry_bytes() {
        let check = |encoding: Encoding, bytes: &[u8]| {
            let message = encoding.message(bytes);
            assert_eq!(encoding.bytes(message).as_deref(), Some(bytes));
        };
        check(Encoding::Binary, b"\xff\x00");
        check(Encoding::Base64, b"\xff\x00");
        let text = Message::Text("*".into());
        assert_eq!(Encoding::Base64.bytes(text), None);
        assert_eq!(Encoding::Binary.bytes(Message::Ping(Bytes::new())), None);
    }
}
