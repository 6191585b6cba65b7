use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::{Bytes, Frame};
use std::fmt;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

/// How many bytes of a file are read at a time.
const PIECE: usize = 256 << 10;

/// The body of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Body {
    /// The media type, such as `application/octet-stream`; no `Content-Type` header is sent when it is empty.
    pub content_type: String,
    /// The bytes, or the file that holds them.
    pub content: Content,
}

/// Where the bytes of a body are.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// In memory.
    Bytes(Vec<u8>),
    /// In a range of a file, which is read while it is sent.
    File {
        /// The path of the file.
        path: PathBuf,
        /// Where the range starts, in bytes.
        offset: u64,
        /// How long the range is, in bytes.
        length: u64,
    },
}

impl Body {
    /// Returns a body without content.
    pub fn empty() -> Self {
        Self {
            content_type: String::new(),
            content: Content::Bytes(Vec::new()),
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.content.length()
    }

    /// Opens the content for one attempt.
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

/// Shows the length only: the content may be secret.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} bytes)", self.length())
    }
}

/// Shows the length only: the content may be secret.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.length())
    }
}
