use parking_lot::{Mutex, MutexGuard};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Where the logs of all jobs are that do not fit into memory: one file without a name.
///
/// Its space is free again when the last clone is dropped or the program ends, however it ends.
#[derive(Clone, Default)]
pub(in crate::full_screen) struct Store(Arc<Mutex<Place>>);

#[derive(Default)]
struct Place {
    file: Option<File>,
    end: u64,
}

impl Store {
    /// Keeps bytes, and returns where they are.
    ///
    /// # Errors
    ///
    /// When there is no room, or no file could be made.
    pub(super) fn keep(&self, bytes: &[u8]) -> io::Result<u64> {
        let mut place = self.lock();
        let at = place.end;
        let file = match &mut place.file {
            Some(file) => file,
            file @ None => file.insert(tempfile::tempfile()?),
        };
        file.write_all_at(bytes, at)?;
        place.end += bytes.len() as u64;
        Ok(at)
    }

    /// Reads what was kept at `at` into the whole of `bytes`.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        match &self.lock().file {
            Some(file) => file.read_exact_at(bytes, at),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Place> {
        self.0.lock()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.lock().end;
        f.debug_struct("Store").field("end", &end).finish()
    }
}
