use crate::project::situation::SituationOptions;
use crate::remote::RemoteOptions;
use executor_core::variable::JobVariable;
use indexmap::IndexMap;
use pipeline::Dialect;
use serde_json::Value;
use std::path::PathBuf;

/// The options that a pipeline is read and created with. The default is a push of the current commit.
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
    /// The dialect of the file.
    pub dialect: Dialect,
    /// The inputs (`--input`), those of components with the name `COMPONENT:NAME`; text is converted to the input's
    /// type.
    pub inputs: IndexMap<String, Value>,
    /// The file with inputs (`--inputs-file`), relative to the current directory; default that of gitlab-ci-local.
    pub inputs_file: Option<PathBuf>,
    /// Pipeline variables (`--variable`); they override all others.
    pub variables: Vec<JobVariable>,
    /// Masked variables (`--secret`); they override those of files.
    pub secrets: Vec<JobVariable>,
    /// Files with variables of the project (`--variables-file`), relative to the current directory; later ones win.
    pub variables_files: Vec<PathBuf>,
    /// The names of variables that no job has (`--unset-variable`).
    pub unset_variables: Vec<String>,
    /// The greatest number of included files (`--maximum-includes`); default 150, as in GitLab.
    pub maximum_includes: Option<usize>,
    /// Whether an included file that no server gives is only a warning, for a pipeline that is shown and does not run.
    pub is_partial: bool,
    /// Variables of the process environment: options of gitlab-ci-local, `GCL_OPTION`.
    pub environment: Vec<(String, String)>,
    /// The home directory; default that of the user.
    pub home: Option<PathBuf>,
    /// What is fetched from servers, and how.
    pub remote: RemoteOptions,
}
