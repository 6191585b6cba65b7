//! A Docker Engine for the tests: started before them, with images of its own, and gone after them.
//!
//! No image is pulled from anywhere: they are made of programs of this host and of Debian's packages.

mod daemon;
mod images;

use std::path::Path;

pub(crate) use daemon::Daemon;

/// The variable that tells the tests where the engine is.
pub(crate) const ADDRESS: &str = "RUNWRIGHT_TEST_DOCKER";

/// Starts an engine that has the images, below a new directory of `target`.
///
/// # Errors
///
/// Fails when the engine does not come up in time, with what it said, or when an image cannot be made.
pub(crate) fn start(target: &Path) -> anyhow::Result<Daemon> {
    let daemon = Daemon::start(target)?;
    images::make(&daemon, target)?;
    Ok(daemon)
}
