//! Architectures without the few lines of assembly that `clone3` needs.

use std::io;
use std::os::fd::BorrowedFd;

use super::{ChildStdio, Started};
use crate::command::Prepared;

/// Reports that the child cannot be started inside a leaf.
pub(crate) fn spawn(
    _command: &Prepared,
    _stdio: &ChildStdio,
    _leaf: BorrowedFd<'_>,
) -> io::Result<io::Result<Started>> {
    Err(io::ErrorKind::Unsupported.into())
}
