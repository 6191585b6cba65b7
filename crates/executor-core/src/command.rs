//! What an executor is asked to run.

use crate::stage::BuildStage;
use std::fmt;
use std::sync::Arc;

/// Which part of the environment a stage runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Where the runner's own tools are: a helper container, or the same place as the user's.
    Helper,
    /// Where the user's tools are.
    User,
}

/// A variable whose value travels as a file.
#[derive(Clone, PartialEq, Eq)]
pub struct FileVariable {
    /// The variable's name, and the file's.
    pub key: String,
    /// The file's content, byte for byte.
    pub content: Vec<u8>,
}

impl fmt::Debug for FileVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileVariable")
            .field("key", &self.key)
            .field("content", &format_args!("[{} bytes]", self.content.len()))
            .finish()
    }
}

/// The variables of a stage, beside its script.
///
/// Values are secrets until proven otherwise, so `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StageVariables {
    /// Names and values for the environment of the process.
    pub environment: Vec<(String, String)>,
    /// Variables whose value goes to a file.
    pub files: Vec<FileVariable>,
    /// The names of those whose values are hidden in the job's log. It masks by itself; this is for executors that show
    /// values elsewhere.
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
    /// The script, in the dialect of the environment's shell. It holds no variable's value.
    pub script: String,
    /// Where it runs.
    pub placement: Placement,
    /// Its variables.
    ///
    /// The executor exports `environment` to the process, and writes each of `files` to
    /// `<temp_dir>/<key>`, readable by the job alone, before the script starts; it exports `key` as
    /// that path. How the values get there is the executor's choice, but never through the script's
    /// text or a command line. The executor makes `temp_dir` when it is missing.
    pub variables: Arc<StageVariables>,
    /// The directory the script starts in.
    ///
    /// It exists: the driver names `project_dir` only after it was made, and has the stages before
    /// that start in `builds_dir` or another directory that is there anyway.
    pub working_dir: String,
}
