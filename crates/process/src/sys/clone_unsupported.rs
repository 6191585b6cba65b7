//! Architectures without the assembly that `clone3` needs.

use std::io;
use std::os::fd::BorrowedFd;

use super::{ChildStdio, Started};
use crate::command::Prepared;

/// Returns an error: this architecture does not support the method.
pub(crate) fn spawn(
    _command: &Prepared,
    _stdio: &ChildStdio,
    _leaf: Option<BorrowedFd<'_>>,
) -> io::Result<io::Result<Started>> {
    Err(io::ErrorKind::Unsupported.into())
}
