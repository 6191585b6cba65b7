use super::error::{StateError, io_error};
use super::project_state::ProjectState;
use super::state_dir::make_dir;
use fail_point::fail_point;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The lock of a run in the working tree itself; released when dropped.
#[derive(Debug)]
pub struct InPlaceLock {
    file: File,
}

impl Drop for InPlaceLock {
    fn drop(&mut self) {
        // A child process that is just starting has the file too, and would hold the lock for a moment.
        let _ = self.file.unlock();
    }
}

impl ProjectState {
    /// Locks the working tree for a run in it.
    ///
    /// # Errors
    ///
    /// [`StateError::InPlace`] with the holder's process id if another run has the lock.
    pub fn lock_in_place(&self) -> Result<InPlaceLock, StateError> {
        make_dir(self.directory())?;
        let path = self.directory().join("in-place.lock");
        let mut file = lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let read = file.read_to_string(&mut holder);
                let known = read.is_ok() && !holder.trim().is_empty();
                let holder = if known {
                    holder.trim().to_owned()
                } else {
                    "unknown".to_owned()
                };
                return Err(StateError::InPlace { holder });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())
        };
        let written = fail_point!("runwright::state::name_holder", write(&mut file));
        written.map_err(io_error("write", &path))?;
        Ok(InPlaceLock { file })
    }
}

fn lock_file(path: &Path) -> Result<File, StateError> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    fail_point!("runwright::state::open_in_place", options.open(path))
        .map_err(io_error("open", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::state::StateDir;

    #[test]
    fn second_run_in_place_is_refused_with_the_holder() {
        let home = tempfile::tempdir().unwrap();
        let project = StateDir::at(home.path()).project(Path::new("/srv/p"));
        let lock = project.lock_in_place().unwrap();
        let refused = project.lock_in_place().unwrap_err().to_string();
        assert!(
            refused.contains(&std::process::id().to_string()),
            "{refused}"
        );
        // As a child process that is just starting has one.
        let _copy = lock.file.try_clone().unwrap();
        drop(lock);
        project.lock_in_place().unwrap();
    }
}
