use crate::{LibraryError, Question};
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// Answers questions about files on other servers.
#[async_trait]
pub trait Library: Debug + Send + Sync {
    /// Answers a question. `etag` names the state that the caller already has; only then may the answer be
    /// [`Answer::Unchanged`].
    ///
    /// # Errors
    ///
    /// When there is no answer. That a file is absent is an answer.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the request.
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError>;
}

#[async_trait]
impl<L: Library + ?Sized> Library for Arc<L> {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        (**self).ask(question, etag).await
    }
}

/// An answer of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The content.
    Body {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// The server's name for this state, used to ask whether it changed.
        etag: Option<String>,
    },
    /// The state that the caller has is still current.
    Unchanged,
    /// It does not exist, although the project does.
    Absent,
}

/// When servers are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FetchPolicy {
    /// When the stored answer is too old.
    #[default]
    Usual,
    /// Always, at least whether something changed.
    Refresh,
    /// Never.
    Offline,
}
