//! Packs files into archives on all processors, and unpacks archives of strangers without harm.

mod format;

pub use format::{Format, Level};
