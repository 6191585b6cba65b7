//! What is kept of answers, for all projects of a user.
//!
//! ```text
//! answers-1/bodies/<SHA-256>      the bytes of an answer; never changed
//! answers-1/entries/<key>         what a question was, which body answers it, since when
//! answers-1/temp/                 what is being written, locked by its writer
//! answers-1/growth                as many bytes as blocks were written since the last eviction
//! ```

mod directory;
mod entry;
mod error;
mod evict;
mod files;
mod kept;
mod shelf;

pub use error::StoreError;
pub use kept::Kept;
pub use shelf::{Store, StoreSize};
