//! Making directories that nobody else may enter.

use super::error::{StateError, io_error};
use fail_point::fail_point;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a directory for one user, with those above it.
pub(crate) fn make_dir(path: &Path) -> Result<(), StateError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    fail_point!("runwright::state::make_dir", builder.create(path))
        .map_err(io_error("create", path))
}
