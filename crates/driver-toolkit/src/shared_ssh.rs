//! One SSH connection for the scripts of a job.

use crate::failure::Failure;
use crate::ssh::{SshHost, spawn};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

/// An address has 107 bytes, and `ssh` first creates the socket under a name that is longer by 17.
const LONGEST_SOCKET: usize = 90;

/// A connection to a machine that scripts can share; it is closed when this is dropped, or this process dies.
#[derive(Debug)]
pub struct SharedSsh {
    socket: PathBuf,
    process: Mutex<Child>,
}

impl SharedSsh {
    /// Begins to connect. Until the connection is there, scripts have their own. `socket` is a path for this connection alone.
    ///
    /// # Errors
    ///
    /// When `ssh` cannot be started, or the path is too long.
    pub fn open(host: &SshHost, socket: PathBuf) -> Result<Self, Failure> {
        if socket.as_os_str().len() > LONGEST_SOCKET {
            return Err(Failure::system(format!(
                "the path {} is too long for a socket",
                socket.display()
            )));
        }
        // A process that was killed has left it.
        let _ = fs::remove_file(&socket);
        let mut command = host.ssh();
        command.arg("-M").arg("-S").arg(&socket);
        // It ends with its input.
        command.args(["--", &host.host, "exec cat"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Mutex::new(spawn(&mut command)?);
        Ok(Self { socket, process })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Returns whether it connects or is connected.
    pub fn is_open(&self) -> bool {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(process.try_wait(), Ok(None))
    }
}

impl Drop for SharedSsh {
    fn drop(&mut self) {
        let process = self.process.get_mut();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        let _ = process.kill();
        let _ = process.wait();
        // It has removed its socket if it ended by itself.
        let _ = fs::remove_file(&self.socket);
    }
}
