use includes::FetchPolicy;
use std::path::PathBuf;

/// What is fetched from servers, and how. The default is what the pipeline file needs: its includes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// When servers are requested (`--offline`, `--refresh`).
    pub fetching: FetchPolicy,
    /// Whether the project's lock file is ignored, since it is written again (`vendor`).
    pub unlocked: bool,
    /// The GitLab of the project (`--gitlab`), instead of that of its remote.
    pub gitlab: Option<String>,
    /// The directory of the user's settings, `config.toml`, and of cached responses; default the user's.
    pub directory: Option<PathBuf>,
    /// Whether to use the variables of the project and its groups (`--gitlab-variables`).
    pub variables: bool,
    /// Whether GitLab reads the pipeline file instead of this program (`--prefer-api`).
    pub prefer_api: bool,
}
