use super::read::{FILE, PROJECT_FILE};
use super::{Settings, SettingsError};
use crate::history::state::StateDir;
use fail_point::fail_point;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    /// The user's file, beside the state.
    User,
    /// The project's file, in the root of the project.
    Project,
}

impl SettingsFile {
    /// Returns its path, for a state directory and a project root.
    pub fn path(self, state: &StateDir, root: &Path) -> PathBuf {
        match self {
            Self::User => state.path().join(FILE),
            Self::Project => root.join(PROJECT_FILE),
        }
    }

    /// Writes it with all settings as comments, and returns its path. An existing file stays unchanged.
    ///
    /// # Errors
    ///
    /// If the file exists already, or cannot be written.
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
                "it already exists, and is not changed".to_owned(),
                Some("`runwright config show --origin` tells what it says"),
            )),
            Err(error) => Err(failed(format!("it cannot be written: {error}"), None)),
        }
    }

    /// Adds to the user's file that jobs with an image may run on this machine itself, in the project with this root.
    /// Returns the path of the file.
    ///
    /// # Errors
    ///
    /// If the root is not UTF-8, or the file cannot be read or written, or says otherwise for this root.
    pub fn allow_host_images(state: &StateDir, root: &Path) -> Result<PathBuf, SettingsError> {
        let path = Self::User.path(state, root);
        let failed = |message: String| SettingsError {
            file: path.clone(),
            place: None,
            message,
            help: Some("write `images = true` below `[host.\"DIRECTORY\"]` there".to_owned()),
        };
        let name = root.to_str().filter(|name| !name.contains('\n'));
        let name = name.ok_or_else(|| failed("the path of the project is not UTF-8".to_owned()))?;
        let table = format!("\n[host.{}]\nimages = true\n", toml::Value::from(name));
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| failed(format!("it cannot be read: {error}")))?,
        };
        let length = text.len() as u64;
        // A second table for the same root would make the whole file invalid.
        if Settings::parse(&path, &(text + &table), None).is_err() {
            let message = format!("it cannot take a table for {}", root.display());
            return Err(failed(message));
        }
        crate::history::state::make_dir(state.path()).map_err(|error| failed(error.to_string()))?;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(Self::User.mode());
        let written = options.open(&path).and_then(|mut file| {
            let written = file.write_all(table.as_bytes());
            if written.is_err() {
                // Half a table would make the file invalid; if this fails too, the error names the file.
                let _ = file.set_len(length);
            }
            written
        });
        written.map_err(|error| failed(format!("it cannot be written: {error}")))?;
        Ok(path)
    }

    /// The user's file may hold a token later, so only its owner can read it.
    fn mode(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Project => 0o666,
        }
    }
}

/// Writes a new file. All of it is comments, so even a partial write sets nothing.
fn write_new(path: &Path, text: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut file = fail_point!("workstation::settings::create_file", options.open(path))?;
    let written = fail_point!("workstation::settings::write_file", file.write_all(text));
    if written.is_err() {
        // If the removal fails too, the returned error leads the user to the file.
        let _ = fs::remove_file(path);
    }
    written
}
