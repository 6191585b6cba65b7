use crate::{Answer, LibraryError, Question};
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// Answers questions about files elsewhere.
#[async_trait]
pub trait Library: Debug + Send + Sync {
    /// Answers a question. `etag` names what the asker has already; [`Answer::Unchanged`] is given
    /// only then.
    ///
    /// # Errors
    ///
    /// When there is no answer; that a thing is not there is one.
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
