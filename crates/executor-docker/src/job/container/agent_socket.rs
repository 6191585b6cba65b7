//! Connects to the agent's socket on this host.

use fail_point::fail_point;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use tokio::net::UnixStream;

/// Connects to a socket in a directory that a container may write to.
///
/// The container controls the directory, so links are not followed: one could lead to any socket of this host.
///
/// # Errors
///
/// When there is no socket, no listener, or no permission. An engine on another or a virtual machine may show the file
/// without its listener.
pub(crate) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(CWD, socket, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Socket {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a socket"));
    }
    // The same file that was checked, whatever has its name by now; and a path that is never too long.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    fail_point!(
        "executor_docker::agent_socket::connect",
        UnixStream::connect(path).await
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_socket_with_a_long_path_is_reached() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("d".repeat(200));
        std::fs::create_dir(&directory).unwrap();
        let short = root.path().join("s");
        let listener = UnixListener::bind(&short).unwrap();
        let path = directory.join("agent.sock");
        std::fs::rename(&short, &path).unwrap();
        let mut stream = connect(&path).await.unwrap();
        let (other, _) = listener.accept().unwrap();
        other.set_nonblocking(true).unwrap();
        let mut other = UnixStream::from_std(other).unwrap();
        other.write_all(b"here").await.unwrap();
        let mut read = [0; 4];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"here");
    }

    #[tokio::test]
    async fn links_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("engine.sock");
        let _listener = UnixListener::bind(&precious).unwrap();
        let link = root.path().join("agent.sock");
        symlink(&precious, &link).unwrap();
        assert!(connect(&precious).await.is_ok());
        assert!(connect(&link).await.is_err());
        std::fs::remove_file(&link).unwrap();
        std::fs::write(&link, "no socket").unwrap();
        assert!(connect(&link).await.is_err());
    }
}
