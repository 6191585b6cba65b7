use bytes::Bytes;
use std::fmt;
use std::path::PathBuf;

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
    /// In memory that others use as well; no attempt copies them.
    Shared(Bytes),
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
}

impl Content {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Shared(bytes) => bytes.len() as u64,
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
