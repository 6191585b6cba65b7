//! The lock file: the answers that were given when it was written.

mod entry;
mod error;
mod file;
mod locked_answer;
mod read;
mod row;
mod text_name;
mod top;
mod write;

pub use error::LockFileError;
pub(crate) use error::RENEW;
pub use file::LockFile;
pub(crate) use locked_answer::{LockedAnswer, LockedText};
pub(crate) use text_name::is_text_name;
pub(crate) use top::{TextState, open_texts};
