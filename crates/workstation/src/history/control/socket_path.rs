//! Where the socket of a run is.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The socket's name in a run's directory.
const NAME: &str = "control";

/// A path of a run's socket that is short enough for the system, however long that of its directory is.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    /// What the path leads through.
    _directory: File,
}

impl Place {
    pub(super) fn of(directory: &Path) -> io::Result<Self> {
        let opened = File::open(directory)?;
        #[cfg(target_os = "linux")]
        let path = {
            use std::os::fd::AsRawFd as _;
            PathBuf::from(format!("/proc/self/fd/{}/{NAME}", opened.as_raw_fd()))
        };
        #[cfg(not(target_os = "linux"))]
        let path = directory.join(NAME);
        Ok(Self {
            path,
            _directory: opened,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
