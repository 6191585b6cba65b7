//! Changes of a `config.toml` that keep its comments and the order of its keys.

mod document;
mod error;
mod new_runner;
mod selector;

pub use error::EditError;
pub use new_runner::NewRunner;
pub use selector::{RunnerEntry, RunnerSelector};

use super::ConfigError;
use super::file::read_text;
use document::Text;
use executor_core::job::SecretString;
use jiff::Timestamp;
use process::{FileLock, LockKind, NewFile, make_private_dir_all};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that the first registration creates, as GitLab Runner does.
const INITIAL: &str = "\
concurrent = 1
check_interval = 0
shutdown_timeout = 0

[session_server]
  session_timeout = 1800
";

/// How long another edit may take.
const LOCK_LIMIT: Duration = Duration::from_secs(10);

/// An open `config.toml`. Other processes that edit it wait until this is dropped.
///
/// Only the text of changed keys differs afterwards; everything else is the same byte for byte. A change is on disk after
/// [`save`](Self::save), as a whole or not at all. The calls block.
#[derive(Debug)]
pub struct ConfigEdit {
    path: PathBuf,
    /// The text on disk; `None` for a file that does not exist yet.
    on_disk: Option<String>,
    text: Text,
    _lock: FileLock,
}

impl ConfigEdit {
    /// Opens a file, or begins a new one with GitLab Runner's defaults. The file's directory is created.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is not TOML, or when another process edits it for more than ten seconds.
    pub fn open(path: &Path) -> Result<Self, EditError> {
        // A link to the file stays a link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let lock = lock(&path).map_err(|source| EditError::Lock {
            path: path.clone(),
            source,
        })?;
        let on_disk = match read_text(&path) {
            Ok(text) => Some(text),
            Err(ConfigError::Absent(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let text = on_disk.clone().unwrap_or_else(|| INITIAL.to_owned());
        Ok(Self {
            text: Text::parse(&path, text)?,
            path,
            on_disk,
            _lock: lock,
        })
    }

    /// Returns all runners of the file, in their order.
    pub fn runners(&self) -> Vec<RunnerEntry> {
        self.text.runners()
    }

    /// Returns the text as it would be saved.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// Appends a runner.
    ///
    /// # Errors
    ///
    /// When the file has its runners in one line, as `runners = [..]`.
    pub fn add_runner(&mut self, runner: &NewRunner) -> Result<(), EditError> {
        self.text.append_runner(&runner.to_toml())
    }

    /// Removes a runner, with its tables and with the comment directly above it. Returns the runner.
    ///
    /// # Errors
    ///
    /// When the selector selects none or several, or when the file has its runners in one line.
    pub fn remove_runner(&mut self, selector: &RunnerSelector) -> Result<RunnerEntry, EditError> {
        let index = selector.find(&self.runners())?;
        self.text.remove_runner(index)
    }

    /// Sets a runner's token, and its two times. `expires_at` is `None` for a token that does not expire.
    ///
    /// # Errors
    ///
    /// When the selector selects none or several, or a runner without a token.
    pub fn set_token(
        &mut self,
        selector: &RunnerSelector,
        token: &SecretString,
        obtained_at: Timestamp,
        expires_at: Option<Timestamp>,
    ) -> Result<(), EditError> {
        let index = selector.find(&self.runners())?;
        let values = [
            ("token", new_runner::quoted(token.expose())),
            ("token_obtained_at", new_runner::time(Some(obtained_at))),
            ("token_expires_at", new_runner::time(expires_at)),
        ];
        self.text.set_values(index, &values)
    }

    /// Writes the file, with the mode and the owner that it has, or readable by its owner only if it is new.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, or when a program without this lock, such as an editor, has changed it meanwhile. The
    /// file is then unchanged.
    pub fn save(&mut self) -> Result<(), EditError> {
        if self.on_disk.as_deref() == Some(self.text.as_str()) {
            return Ok(());
        }
        let current = match read_text(&self.path) {
            Ok(text) => Some(text),
            Err(ConfigError::Absent(_)) => None,
            Err(error) => return Err(error.into()),
        };
        if current != self.on_disk {
            return Err(EditError::Changed(self.path.clone()));
        }
        self.write().map_err(|source| EditError::Write {
            path: self.path.clone(),
            source,
        })?;
        self.on_disk = Some(self.text.as_str().to_owned());
        Ok(())
    }

    fn write(&self) -> io::Result<()> {
        let old = match fs::metadata(&self.path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let temporary = self.path.with_added_extension("new");
        // The lock excludes other writers of this name.
        let mut new = NewFile::write(temporary, self.text.as_str().as_bytes(), 0o600)?;
        if let Some(old) = old {
            keep_owner(new.file(), &old)?;
            new.set_mode(old.permissions().mode() & 0o7777)?;
        }
        new.file().sync_all()?;
        new.replace(&self.path)?;
        // The new name must be on disk too.
        File::open(directory(&self.path))?.sync_all()
    }
}

/// Gives a file the owner of another: a service may have to read what root has written.
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if new.uid() == old.uid() && new.gid() == old.gid() {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Locks the directory: the file itself is replaced by each edit.
fn lock(path: &Path) -> io::Result<FileLock> {
    let directory = directory(path);
    make_private_dir_all(directory)?;
    FileLock::within(File::open(directory)?, LockKind::Exclusive, LOCK_LIMIT)
}
