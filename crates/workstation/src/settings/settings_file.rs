use super::SettingsError;
use super::read::{FILE, PROJECT_FILE};
use crate::history::state::StateDir;
use fail_point::fail_point;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A file with settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    /// That of the user, beside the state.
    User,
    /// That of a project, at its top.
    Project,
}

impl SettingsFile {
    /// Returns where it is, for the user's state and the top of a project.
    pub fn path(self, state: &StateDir, root: &Path) -> PathBuf {
        match self {
            Self::User => state.path().join(FILE),
            Self::Project => root.join(PROJECT_FILE),
        }
    }

    /// Writes it with all settings as comments, and returns where it is. What is there is left as it is.
    ///
    /// # Errors
    ///
    /// When there is one, or it cannot be written.
    pub fn init(self, state: &StateDir, root: &Path) -> Result<PathBuf, SettingsError> {
        let path = self.path(state, root);
        let failed = |message: String, help: Option<&str>| SettingsError {
            file: path.clone(),
            place: None,
            message,
            help: help.map(ToOwned::to_owned),
        };
        if self == Self::User {
            let made = state
                .create_ignored_in(root)
                .map_err(|error| error.to_string());
            let made = made.and_then(|()| {
                crate::history::state::make_dir(state.path()).map_err(|error| error.to_string())
            });
            made.map_err(|error| failed(error, None))?;
        }
        match write_new(&path, self.template().as_bytes(), self.mode()) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(failed(
                "it is there already, and stays as it is".to_owned(),
                Some("`runwright config show --origin` tells what it says"),
            )),
            Err(error) => Err(failed(format!("it cannot be written: {error}"), None)),
        }
    }

    /// The user's may get a token one day.
    fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Project => 0o666,
        }
    }
}

/// Writes a file that is not there yet. All of it is comments, so that a part of it says nothing else.
fn write_new(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut file = fail_point!("runwright::settings::create_file", options.open(path))?;
    let written = fail_point!("runwright::settings::write_file", file.write_all(text));
    if written.is_err() {
        // What cannot be removed either is seen by whoever reads the error.
        let _ = fs::remove_file(path);
    }
    written
}
