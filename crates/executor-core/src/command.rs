//! The command an executor runs for a stage.

use crate::error::BuildError;
use crate::stage::BuildStage;
use std::fmt;
use std::sync::Arc;

/// Which part of the environment a stage runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    /// The part with the runner's tools: a helper container, or the same as the user's.
    Helper,
    /// The part with the user's tools.
    User,
}

/// A variable whose value is passed in a file.
#[derive(Clone, PartialEq, Eq)]
pub struct FileVariable {
    /// The variable's name, and the file's.
    pub key: String,
    /// The file's content, byte for byte.
    pub content: Vec<u8>,
}

impl FileVariable {
    /// Returns whether the name can be that of a file in `temp_dir`.
    ///
    /// A project chooses names, and one with a slash would be a file elsewhere. Names that start with a dot are reserved
    /// for the executor.
    pub fn is_file_name(&self) -> bool {
        let key = self.key.as_str();
        !key.is_empty() && !key.starts_with('.') && !key.contains(['/', '\0'])
    }
}

impl fmt::Debug for FileVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileVariable")
            .field("key", &self.key)
            .field("content", &format_args!("[{} bytes]", self.content.len()))
            .finish()
    }
}

/// The variables of a stage, apart from its script.
///
/// Any value may be a secret, so `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StageVariables {
    /// Names and values for the environment of the process.
    pub environment: Vec<(String, String)>,
    /// Variables whose value goes to a file.
    pub files: Vec<FileVariable>,
    /// The names of the variables whose values are masked in the job's log.
    ///
    /// The log masks them itself. The names are for executors that show values in other places.
    pub masked: Vec<String>,
}

impl StageVariables {
    /// Returns the value of an environment variable.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.environment
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Checks that the name of each file variable can be that of a file in `temp_dir`.
    ///
    /// # Errors
    ///
    /// A configuration error that names the first variable for which [`FileVariable::is_file_name`] is false.
    pub fn check_file_names(&self) -> Result<(), BuildError> {
        match self.files.iter().find(|file| !file.is_file_name()) {
            None => Ok(()),
            Some(file) => Err(BuildError::config(format!(
                "invalid file variable {:?}: expected a file name without slash that does not begin with a dot",
                file.key
            ))),
        }
    }
}

impl fmt::Debug for StageVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageVariables")
            .field(
                "environment",
                &self
                    .environment
                    .iter()
                    .map(|(key, _)| key)
                    .collect::<Vec<_>>(),
            )
            .field("files", &self.files)
            .field("masked", &self.masked)
            .finish()
    }
}

/// One stage to run.
#[derive(Debug, Clone)]
pub struct StageCommand {
    /// The stage.
    pub stage: BuildStage,
    /// The script, in the dialect of the environment's shell. It contains no variable's value.
    pub script: String,
    /// The part of the environment it runs in.
    pub placement: Placement,
    /// Its variables.
    ///
    /// The executor exports `environment` to the process. Before the script starts, it writes each of
    /// `files` to `<temp_dir>/<key>`, readable by the job alone, and exports `key` as that path. It
    /// never passes values in the script's text or on a command line. It creates `temp_dir` when that
    /// is missing.
    pub variables: Arc<StageVariables>,
    /// The directory the script starts in.
    ///
    /// It exists: the driver names `project_dir` only after creating it. Earlier stages start in
    /// `builds_dir` or another existing directory.
    pub working_dir: String,
}
