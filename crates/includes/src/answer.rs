use std::sync::Arc;

/// What a library answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This.
    Body {
        /// The bytes.
        bytes: Arc<[u8]>,
        /// What the server calls this state of it, to be asked whether it changed.
        etag: Option<String>,
    },
    /// What the asker has already is still right.
    Unchanged,
    /// There is no such thing, where everything around it is.
    Absent,
}
