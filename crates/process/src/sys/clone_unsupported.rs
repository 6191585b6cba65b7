//! Architectures without the few lines of assembly that `clone3` needs.

use std::io;
use std::os::fd::BorrowedFd;

use super::{ChildStdio, Started};
use crate::command::Prepared;

/// Reports that no child can be started in this way.
pub(crate) fn spawn(
    _command: &Prepared,
    _stdio: &ChildStdio,
    _leaf: Option<BorrowedFd<'_>>,
) -> io::Result<io::Result<Started>> {
    Err(io::ErrorKind::Unsupported.into())
}
