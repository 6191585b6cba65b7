//! A Docker Engine for the tests: started before them with its own images, and removed after them.
//!
//! It pulls no image: all are built from programs of this host and Debian packages.

mod daemon;
mod images;
mod sshd;
mod way;

use std::path::Path;

pub(crate) use daemon::{Daemon, mount_memory, unmount};
pub(crate) use images::busybox;
pub(crate) use sshd::Sshd;
pub(crate) use way::{Over, Way};

/// The variable with the engine's address for the tests.
pub(crate) const ADDRESS: &str = "RUNWRIGHT_TEST_DOCKER";

/// The variable with the path of its socket, for every transport.
pub(crate) const SOCKET: &str = "RUNWRIGHT_TEST_DOCKER_SOCKET";

/// Starts an engine that has the images, in a new directory below `target`.
///
/// # Errors
///
/// Fails when the engine does not start in time, with its log, or when an image cannot be created.
pub(crate) fn start(target: &Path) -> anyhow::Result<Daemon> {
    let daemon = Daemon::start(target)?;
    images::make(&daemon, target)?;
    Ok(daemon)
}
