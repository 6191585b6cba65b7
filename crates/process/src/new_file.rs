//! Files that replace others as a whole.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new file under a temporary name, removed when dropped before it has replaced another.
///
/// `tempfile` chooses a random name, so that each killed writer leaves a file; here the caller chooses one that the next
/// writer takes over.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    name: TemporaryName,
}

/// Removes the file of this name when dropped before it has got its final name.
#[derive(Debug)]
struct TemporaryName {
    path: PathBuf,
    has_replaced: bool,
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.has_replaced {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl NewFile {
    /// Creates a file in place of one that a killed writer left. No other writer may use the name at the same time.
    ///
    /// # Errors
    ///
    /// Those of removing and creating a file.
    pub fn create(path: impl Into<PathBuf>, mode: u32) -> io::Result<Self> {
        let path = path.into();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        let name = TemporaryName {
            path,
            has_replaced: false,
        };
        Ok(Self { file, name })
    }

    /// Creates a file as [`create`](Self::create), with this content.
    ///
    /// # Errors
    ///
    /// Those of `create` and of writing.
    pub fn write(path: impl Into<PathBuf>, content: &[u8], mode: u32) -> io::Result<Self> {
        let mut new = Self::create(path, mode)?;
        new.file.write_all(content)?;
        Ok(new)
    }

    /// Returns the open file.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Sets the permissions, of which the umask may have removed some.
    ///
    /// # Errors
    ///
    /// Those of [`File::set_permissions`].
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    /// Closes the file and gives it its final name. Readers see the previous file with that name or this one.
    ///
    /// # Errors
    ///
    /// Those of [`fs::rename`].
    pub fn replace(self, target: &Path) -> io::Result<()> {
        let Self { file, mut name } = self;
        // A program that is still open for writing cannot be started.
        drop(file);
        fs::rename(&name.path, target)?;
        name.has_replaced = true;
        Ok(())
    }
}

/// Writes a file under a temporary name beside `target`, then replaces `target`. The umask applies.
///
/// # Errors
///
/// Those of creating, writing and renaming a file.
pub fn replace_file(target: &Path, content: &[u8]) -> io::Result<()> {
    NewFile::write(beside(target), content, 0o666)?.replace(target)
}

/// Returns a name beside `target` that no other writer uses.
fn beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    target.with_added_extension(format!("{}-{number}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_file_as_a_whole_or_leaves_it() {
        let root = tempfile::tempdir().unwrap();
        let (target, new) = (root.path().join("target"), root.path().join("new"));
        replace_file(&target, b"one").unwrap();
        fs::write(&new, "of a killed writer").unwrap();
        drop(NewFile::write(&new, b"two", 0o600).unwrap());
        assert_eq!(fs::read(&target).unwrap(), b"one");
        let file = NewFile::write(&new, b"three", 0o600).unwrap();
        file.set_mode(0o755).unwrap();
        file.replace(&target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"three");
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }
}
