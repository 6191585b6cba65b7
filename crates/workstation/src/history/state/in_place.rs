use super::error::{StateError, io_error};
use super::project_state::{ProjectState, make_dir};
use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};

/// The lock of a run in the working tree itself; released when dropped.
#[derive(Debug)]
pub struct InPlaceLock {
    _lock: FileLock,
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
        let open = || FileLock::open_file(&path);
        let file = fail_point!("workstation::state::open_in_place", open())
            .map_err(io_error("open", &path))?;
        let lock = FileLock::attempt(file, LockKind::Exclusive).map_err(io_error("lock", &path))?;
        let lock = lock.map_err(|file| StateError::InPlace {
            holder: holder(file),
        })?;
        let write = |mut file: &File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())
        };
        let written = fail_point!("workstation::state::name_holder", write(lock.file()));
        written.map_err(io_error("write", &path))?;
        Ok(InPlaceLock { _lock: lock })
    }
}

/// Returns the process id in the file of a lock.
fn holder(file: File) -> String {
    match io::read_to_string(file) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::history::state::StateDir;
    use std::path::Path;

    #[test]
    #[expect(
        clippy::used_underscore_binding,
        reason = "a copy of the descriptor, as a child inherits it"
    )]
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
        let _copy = lock._lock.file().try_clone().unwrap();
        drop(lock);
        project.lock_in_place().unwrap();
    }
}
