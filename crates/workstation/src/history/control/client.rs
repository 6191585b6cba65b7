//! The side of whoever tells a run what to do.

use super::message::{ControlReply, ControlRequest, LONGEST_REPLY, line};
use super::place::Place;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a run may take to answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// Tells a living run what to do.
#[derive(Debug, Clone)]
pub struct RunControl {
    directory: PathBuf,
}

/// Why a run does not do what it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunControlError {
    /// Nobody listens: it has ended, or has not begun.
    #[error("the run does not run")]
    NotRunning,
    /// It says no.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
        /// What there is instead.
        suggestion: Option<String>,
    },
    /// It does not answer in time.
    #[error("the run does not answer")]
    Silent,
    /// Its answer is none.
    #[error("the answer of the run")]
    Answer(#[source] serde_json::Error),
    /// It could not be talked to.
    #[error("talk to the run")]
    Io(#[source] io::Error),
}

impl RunControl {
    pub(in crate::history) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Tells the run what to do and returns its answer, which is never [`ControlReply::Refused`].
    ///
    /// # Errors
    ///
    /// When it does not run, says no, or does not answer in time.
    pub async fn send(&self, request: &ControlRequest) -> Result<ControlReply, RunControlError> {
        let talk = self.talk(request);
        let reply = timeout(DEADLINE, talk).await;
        match reply.map_err(|_| RunControlError::Silent)?? {
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

    async fn talk(&self, request: &ControlRequest) -> Result<ControlReply, RunControlError> {
        let line = line(request).map_err(RunControlError::Answer)?;
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
            // It ended before it came to the answer.
            return Err(RunControlError::NotRunning);
        }
        serde_json::from_slice(&read).map_err(RunControlError::Answer)
    }

    async fn exchange(&self, line: &[u8]) -> io::Result<Vec<u8>> {
        let place = Place::of(&self.directory)?;
        let mut stream = UnixStream::connect(place.path()).await?;
        let (read, mut write) = stream.split();
        write.write_all(line).await?;
        let mut reply = Vec::new();
        let mut read = BufReader::new(read).take(LONGEST_REPLY);
        read.read_until(b'\n', &mut reply).await?;
        Ok(reply)
    }
}
