//! Receives a file in the body of a request, as it is or as the only part of a form.

use fail_point::fail_point;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::{Request, header};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use tokio::time::timeout;

/// The longest header of a part of a form.
const LONGEST_HEADER: usize = 16 << 10;

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum Refusal {
    Forbidden,
    NotFound,
    Method,
    TooLarge,
    Invalid,
    Late,
    Disk(io::Error),
}

/// Receives files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver<'r> {
    /// The directory for them.
    pub(super) spool: &'r Path,
    /// The largest size of a body.
    pub(super) largest: u64,
    /// How long the client may be silent.
    pub(super) silence: Duration,
}

impl Receiver<'_> {
    /// Receives a file; when this fails, none remains.
    pub(super) async fn receive(self, request: &mut Request<Incoming>) -> Result<PathBuf, Refusal> {
        let length = request.body().size_hint().exact();
        if length.is_some_and(|length| length > self.largest) {
            return Err(Refusal::TooLarge);
        }
        let boundary = boundary(request);
        let made = tempfile::Builder::new()
            .prefix("upload-")
            .tempfile_in(self.spool);
        let (file, path) = made.map_err(Refusal::Disk)?.into_parts();
        let mut file = File::from_std(file);
        match boundary {
            None => {
                self.copy(request.body_mut(), Vec::new(), &mut file).await?;
            }
            Some(boundary) => self.part(request.body_mut(), &boundary, &mut file).await?,
        }
        fail_point!("job_runner::exchange::receive", file.flush().await).map_err(Refusal::Disk)?;
        path.keep().map_err(|error| Refusal::Disk(error.error))
    }

    /// Writes `start` and the rest of a body.
    async fn copy(
        self,
        body: &mut Incoming,
        start: Vec<u8>,
        file: &mut File,
    ) -> Result<(), Refusal> {
        let mut size = start.len() as u64;
        file.write_all(&start).await.map_err(Refusal::Disk)?;
        while let Some(piece) = self.next(body).await? {
            size += piece.len() as u64;
            if size > self.largest {
                return Err(Refusal::TooLarge);
            }
            file.write_all(&piece).await.map_err(Refusal::Disk)?;
        }
        Ok(())
    }

    /// Writes the content of the only part of a form.
    async fn part(
        self,
        body: &mut Incoming,
        boundary: &str,
        file: &mut File,
    ) -> Result<(), Refusal> {
        let mut start: Vec<u8> = Vec::new();
        let content = loop {
            if let Some(at) = start.windows(4).position(|it| it == b"\r\n\r\n") {
                break start.split_off(at + 4);
            }
            let piece = self.next(body).await?.ok_or(Refusal::Invalid)?;
            if start.len() > LONGEST_HEADER {
                return Err(Refusal::Invalid);
            }
            start.extend_from_slice(&piece);
        };
        if !start.starts_with(format!("--{boundary}\r\n").as_bytes()) {
            return Err(Refusal::Invalid);
        }
        self.copy(body, content, file).await?;
        self.cut_end(boundary, file).await
    }

    /// Removes the end of the form from the file.
    async fn cut_end(self, boundary: &str, file: &mut File) -> Result<(), Refusal> {
        let end = format!("\r\n--{boundary}--");
        // A line break may follow.
        let longest = end.len() as u64 + 2;
        let work = async {
            let size = file.seek(SeekFrom::End(0)).await?;
            let from = size.saturating_sub(longest);
            file.seek(SeekFrom::Start(from)).await?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail).await?;
            let found = tail.windows(end.len()).rposition(|it| it == end.as_bytes());
            if let Some(at) = found {
                file.set_len(from + at as u64).await?;
            }
            Ok::<_, io::Error>(found.is_some())
        };
        match work.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::Invalid),
            Err(error) => Err(Refusal::Disk(error)),
        }
    }

    async fn next(self, body: &mut Incoming) -> Result<Option<hyper::body::Bytes>, Refusal> {
        loop {
            let frame = timeout(self.silence, body.frame()).await;
            match frame.map_err(|_| Refusal::Late)? {
                None => return Ok(None),
                Some(Err(_)) => return Err(Refusal::Invalid),
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }
}

/// Returns the boundary of a form.
fn boundary(request: &Request<Incoming>) -> Option<String> {
    let kind = request.headers().get(header::CONTENT_TYPE)?.to_str().ok()?;
    let parameters = kind.strip_prefix("multipart/form-data")?;
    let boundary = parameters
        .split(';')
        .find_map(|it| it.trim().strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"').to_owned())
}
