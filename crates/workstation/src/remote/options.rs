use includes::FetchPolicy;
use std::path::PathBuf;

/// What is taken from elsewhere, and how. The default is what the pipeline file needs: its includes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// When servers are asked (`--offline`, `--refresh`).
    pub fetching: FetchPolicy,
    /// Whether the project's lock file counts for nothing, as it is written anew (`vendor`).
    pub unlocked: bool,
    /// The GitLab of the project (`--gitlab`), instead of the one its remote names.
    pub gitlab: Option<String>,
    /// The directory of the user's settings, `config.toml`, and of what is kept of elsewhere; `None`
    /// means that of the user who runs this program.
    pub directory: Option<PathBuf>,
    /// Whether the variables of the project and its groups are asked for (`--gitlab-variables`).
    pub variables: bool,
    /// Whether GitLab reads the file, instead of this program (`--prefer-api`).
    pub prefer_api: bool,
}
