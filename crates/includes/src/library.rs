use crate::{Answer, LibraryError, Question};
use async_trait::async_trait;
use std::fmt::Debug;

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
