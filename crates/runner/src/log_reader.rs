//! A job's log on disk, read by the one that sends it.

use gitlab_api::runner::UpdateOutput;
use job_runner::JobNotes;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The largest piece that GitLab takes.
const PIECE: u64 = 1 << 20;

/// Reads a log piece by piece, with the checksum of what was sent.
#[derive(Debug)]
pub(crate) struct LogReader {
    path: PathBuf,
    sent: u64,
    hasher: crc32fast::Hasher,
}

impl LogReader {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            sent: 0,
            hasher: crc32fast::Hasher::new(),
        }
    }

    /// Returns the number of bytes that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns length and checksum of what was sent.
    pub(crate) fn digest(&self) -> UpdateOutput {
        let crc32 = self.hasher.clone().finalize();
        UpdateOutput {
            checksum: format!("crc32:{crc32:08x}"),
            bytesize: Some(self.sent).filter(|it| *it > 0),
        }
    }

    /// Returns the next piece to send, of 1 MiB at most, and nothing that another process would write again after these notes;
    /// an empty one if there is no more yet.
    pub(crate) async fn next(&self, notes: Option<JobNotes>) -> io::Result<Vec<u8>> {
        let (path, sent) = (self.path.clone(), self.sent);
        off_thread(move || {
            let end = notes.and_then(|it| it.log_end()).unwrap_or(u64::MAX);
            read(&path, sent, PIECE.min(end.saturating_sub(sent)))
        })
        .await
    }

    /// Notes that a piece was sent.
    pub(crate) fn advance(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.sent += piece.len() as u64;
    }

    /// Continues at another place, or at the end of the log if that is earlier.
    pub(crate) async fn seek(&mut self, to: u64) -> io::Result<()> {
        let mut reader = Self::new(self.path.clone());
        while reader.sent < to {
            let (path, sent) = (reader.path.clone(), reader.sent);
            let most = PIECE.min(to - sent);
            let piece = off_thread(move || read(&path, sent, most)).await?;
            if piece.is_empty() {
                break;
            }
            reader.advance(&piece);
        }
        *self = reader;
        Ok(())
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(io::Error::other).flatten()
}

/// A log that does not exist is empty: the job has written nothing yet.
fn read(path: &Path, from: u64, most: u64) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    file.seek(SeekFrom::Start(from))?;
    let mut piece = Vec::new();
    file.take(most).read_to_end(&mut piece)?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn log_is_read_again_from_any_place() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let mut log = LogReader::new(path.clone());
        assert_eq!(log.next(None).await.expect("nothing"), b"");
        assert_eq!(log.digest().checksum, "crc32:00000000");
        std::fs::write(&path, "one two").expect("written");
        let piece = log.next(None).await.expect("a piece");
        log.advance(&piece);
        let whole = log.digest();
        assert_eq!(whole.bytesize, Some(7));
        log.seek(4).await.expect("there");
        assert_eq!(log.next(None).await.expect("a piece"), b"two");
        log.advance(b"two");
        assert_eq!(log.digest(), whole);
        log.seek(99).await.expect("the end");
        assert_eq!(log.sent(), 7);
    }
}
