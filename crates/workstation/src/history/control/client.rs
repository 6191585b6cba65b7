//! The client of a run's control socket.

use super::message::{ControlReply, ControlRequest, MAX_REPLY, line};
use super::socket_path::SocketPath;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a run may take to reply.
const DEADLINE: Duration = Duration::from_secs(10);

/// Sends requests to a running run.
#[derive(Debug, Clone)]
pub struct RunControl {
    directory: PathBuf,
}

/// Why a request to a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunControlError {
    /// The run has ended or not started.
    #[error("the run is not running")]
    NotRunning,
    /// It refuses the request.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What to do instead.
        suggestion: Option<String>,
    },
    /// It does not reply in time.
    #[error("the run does not reply")]
    Timeout,
    /// Its reply is invalid.
    #[error("read the reply of the run")]
    Reply(#[source] serde_json::Error),
    /// The connection failed.
    #[error("connect to the run")]
    Io(#[source] io::Error),
}

impl RunControl {
    pub(in crate::history) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Sends a request and returns the reply, which is never [`ControlReply::Refused`].
    ///
    /// # Errors
    ///
    /// When the run is not running, refuses, or does not reply in time.
    pub async fn send(&self, request: &ControlRequest) -> Result<ControlReply, RunControlError> {
        let reply = timeout(DEADLINE, self.request(request)).await;
        match reply.map_err(|_| RunControlError::Timeout)?? {
            ControlReply::Refused {
                message,
                suggestion,
            } => Err(RunControlError::Refused {
                message,
                suggestion,
            }),
            reply => Ok(reply),
        }
    }

    async fn request(&self, request: &ControlRequest) -> Result<ControlReply, RunControlError> {
        let line = line(request).map_err(RunControlError::Reply)?;
        let read = self
            .exchange(&line)
            .await
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    RunControlError::NotRunning
                }
                _ => RunControlError::Io(error),
            })?;
        if read.is_empty() {
            // It ended before it replied.
            return Err(RunControlError::NotRunning);
        }
        serde_json::from_slice(&read).map_err(RunControlError::Reply)
    }

    async fn exchange(&self, line: &[u8]) -> io::Result<Vec<u8>> {
        let socket = SocketPath::of(&self.directory)?;
        let mut stream = UnixStream::connect(socket.path()).await?;
        let (read, mut write) = stream.split();
        write.write_all(line).await?;
        let mut reply = Vec::new();
        let mut read = BufReader::new(read).take(MAX_REPLY);
        read.read_until(b'\n', &mut reply).await?;
        Ok(reply)
    }
}
