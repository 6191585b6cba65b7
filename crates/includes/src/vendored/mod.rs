//! The lock file and the texts beside it, as a whole.

mod check;
mod report;
mod write;

pub use report::{ChangedText, VendorReport};
pub use write::{Vendored, Written};
