use crate::Answer;
use std::time::SystemTime;

/// An answer that was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The answer: a body, or that there is none.
    pub answer: Answer,
    /// When it was fetched.
    pub fetched: SystemTime,
    /// When the server said last that it is still right.
    pub checked: SystemTime,
}

impl Kept {
    /// Returns what the server calls the body, if it named it.
    pub fn etag(&self) -> Option<&str> {
        match &self.answer {
            Answer::Body { etag, .. } => etag.as_deref(),
            Answer::Unchanged | Answer::Absent => None,
        }
    }
}
