use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use std::fmt;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

/// How much of a file is read at a time.
const PIECE: usize = 256 << 10;

/// What is sent to a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// What it is, `application/octet-stream` for instance; nothing is said where this is empty.
    pub content_type: String,
    /// Where it is.
    pub content: Content,
}

/// Where that is what is sent.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// Here.
    Bytes(Vec<u8>),
    /// In a part of a file, which is read while it is sent.
    File {
        /// Which file.
        path: PathBuf,
        /// How many bytes are before it.
        offset: u64,
        /// How many bytes it has.
        length: u64,
    },
}

impl Body {
    /// Returns one without anything in it.
    pub fn empty() -> Self {
        Self {
            content_type: String::new(),
            content: Content::Bytes(Vec::new()),
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.content.length()
    }

    /// Opens it anew, for one attempt.
    pub(crate) async fn open(&self) -> io::Result<reqwest::Body> {
        match &self.content {
            Content::Bytes(bytes) => Ok(bytes.clone().into()),
            Content::File {
                path,
                offset,
                length,
            } => file(path, *offset, *length).await,
        }
    }
}

async fn file(path: &Path, offset: u64, length: u64) -> io::Result<reqwest::Body> {
    let mut file = File::open(path).await?;
    file.seek(SeekFrom::Start(offset)).await?;
    let frames = stream::try_unfold((file, length), async |(mut file, left)| {
        if left == 0 {
            return Ok(None);
        }
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; most];
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        piece.truncate(read);
        let frame = Frame::data(Bytes::from(piece));
        Ok(Some((frame, (file, left - read as u64))))
    });
    Ok(reqwest::Body::wrap(StreamBody::new(frames)))
}

impl Content {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// Shows how much there is, and not what.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.length())
    }
}

/// Shows how much there is, and not what.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.length())
    }
}
