use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The socket's name in a run's directory.
const NAME: &str = "control";

/// The path of a run's control socket, short enough for the system even in a directory with a long path.
#[derive(Debug)]
pub(super) struct SocketPath {
    path: PathBuf,
    /// The path goes through this descriptor.
    _directory: File,
}

impl SocketPath {
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
