//! A Docker Engine for the tests: started before them, with images of its own, and gone after them.
//!
//! No image is pulled from anywhere: they are made of programs of this host and of Debian's packages.

mod certificates;
mod daemon;
mod images;
mod port;
mod sshd;
mod way;

use std::path::Path;

pub(crate) use daemon::Daemon;
pub(crate) use sshd::Sshd;
pub(crate) use way::{Over, Way};

/// The variable that tells the tests where the engine is.
pub(crate) const ADDRESS: &str = "RUNWRIGHT_TEST_DOCKER";

/// The variable with the path of its socket, whatever way leads to it.
pub(crate) const SOCKET: &str = "RUNWRIGHT_TEST_DOCKER_SOCKET";

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
