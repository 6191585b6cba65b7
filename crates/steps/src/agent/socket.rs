//! The socket of an agent. It is private to its user, and replaces that of a dead agent but never of a living one.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

/// The longest path that the kernel accepts: 108 bytes with a final NUL.
const LONGEST: usize = 107;

/// The length of the queue of pending connections.
const BACKLOG: i32 = 1024;

/// Why an agent cannot listen.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("another agent already listens on socket {}", .0.display())]
    Taken(PathBuf),
    #[error("{} already exists, and is not a socket", .0.display())]
    NoSocket(PathBuf),
    #[error(
        "the path of the socket has {} bytes; expected at most {LONGEST}: {}",
        .0.as_os_str().len(),
        .0.display()
    )]
    TooLong(PathBuf),
    #[error("open socket {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
}

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    inode: Option<(u64, u64)>,
    listener: Option<UnixListener>,
}

impl Socket {
    /// Listens on a path to which only this user can connect.
    ///
    /// The socket of a dead agent is replaced.
    pub(crate) fn open(path: &Path) -> Result<Self, SocketError> {
        if path.as_os_str().len() > LONGEST {
            return Err(SocketError::TooLong(path.to_owned()));
        }
        let failed = |source| SocketError::Open {
            path: path.to_owned(),
            source,
        };
        remove_stale(path)?;
        let listener = listener(path).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            inode: inode(path),
            listener: Some(listener),
        })
    }

    /// Returns the listener on the first call.
    pub(crate) fn take_listener(&mut self) -> Option<UnixListener> {
        self.listener.take()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another agent may have replaced the file.
        if self.inode.is_some() && inode(&self.path) == self.inode {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens without blocking on a new file.
fn listener(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file gets the permissions that the socket has at `bind`. If they were restricted later, others could connect
    // before.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Removes a socket without a listener.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let Ok(there) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !there.file_type().is_socket() {
        return Err(SocketError::NoSocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(SocketError::Open {
                path: path.to_owned(),
                source,
            });
        }
        Ok(_) => return Err(SocketError::Taken(path.to_owned())),
    }
    fs::remove_file(path).map_err(|source| SocketError::Open {
        path: path.to_owned(),
        source,
    })
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let there = fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dead_socket_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("agent.sock");
        // The file remains. A child just forked by another test holds the listener a little longer.
        drop(UnixListener::bind(&path).unwrap());
        while UnixStream::connect(&path).is_ok() {
            std::thread::yield_now();
        }
        let living = Socket::open(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let error = Socket::open(&path).unwrap_err();
        assert!(matches!(error, SocketError::Taken(_)), "{error}");
        drop(living);
        assert!(!path.exists());
    }

    #[test]
    fn other_files_and_foreign_sockets_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("agent.sock");
        fs::write(&path, "precious").unwrap();
        let error = Socket::open(&path).unwrap_err();
        assert!(matches!(error, SocketError::NoSocket(_)), "{error}");
        fs::remove_file(&path).unwrap();
        let socket = Socket::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        drop(socket);
        assert!(path.exists());
    }

    #[test]
    fn too_long_path_is_rejected_with_its_length() {
        let path = Path::new("/tmp").join("x".repeat(104));
        let error = Socket::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("has 109 bytes; expected at most 107"),
            "{error}"
        );
        let error = Socket::open(Path::new("/no/such/directory/s")).unwrap_err();
        assert!(
            error.to_string().starts_with("open socket /no/such"),
            "{error}"
        );
    }
}
