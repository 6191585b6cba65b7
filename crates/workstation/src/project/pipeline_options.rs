use crate::project::situation::SituationOptions;
use crate::remote::RemoteOptions;
use executor_core::variable::JobVariable;
use indexmap::IndexMap;
use pipeline::Dialect;
use serde_json::Value;
use std::path::PathBuf;

/// What pipeline of a project is meant. The default is the one of a push of what is checked out.
///
/// # Examples
///
/// ```
/// use workstation::{PipelineOptions, SituationOptions};
///
/// let of_a_tag = PipelineOptions {
///     situation: SituationOptions { tag: Some("v1.0".to_owned()), ..Default::default() },
///     ..PipelineOptions::default()
/// };
/// # let _ = of_a_tag;
/// ```
#[derive(Debug, Clone, Default)]
pub struct PipelineOptions {
    /// The situation.
    pub situation: SituationOptions,
    /// Whose reading of the file is meant.
    pub dialect: Dialect,
    /// The inputs (`--input`); text becomes what an input's type asks for.
    pub inputs: IndexMap<String, Value>,
    /// Pipeline variables (`--variable`); they win over all others.
    pub variables: Vec<JobVariable>,
    /// Masked variables (`--secret`); they win over those of files.
    pub secrets: Vec<JobVariable>,
    /// Files with variables of the project (`--variables-file`), as seen from the current directory;
    /// later ones win.
    pub variables_files: Vec<PathBuf>,
    /// The home directory with the user's own files; `None` means that of the user who runs this
    /// program.
    pub home: Option<PathBuf>,
    /// Which remote files and variables are used, and how they are fetched.
    pub remote: RemoteOptions,
}
