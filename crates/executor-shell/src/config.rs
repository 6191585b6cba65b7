//! The settings of the shell executor.

use process::{Containment, Supervisor};
use std::time::Duration;

/// The way in which jobs run on this host.
///
/// The runner's own settings (`RunnerConfig`) choose the shell's dialect and other directories.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// Whether the shell reads the profile files of a login first. Default: yes.
    ///
    /// The job's variables override those of a profile.
    pub login: bool,
    /// The builds directory, unless the runner sets `builds_dir` or `host_builds_dir`. Default: `builds`.
    ///
    /// A relative path starts at the runner's working directory.
    pub builds_dir: String,
    /// The cache directory, unless the runner sets one. Default: `cache`.
    pub cache_dir: String,
    /// The part of the runner's process environment that jobs inherit. Default: nearly all of it.
    pub inherit_environment: InheritEnvironment,
    /// How the processes of a job are contained. Default: by cgroups where available.
    ///
    /// Without effect when `supervisor` is set, which has its own setting.
    pub containment: Containment,
    /// How long a background process may write to the log after the end of the stage's shell, before it is killed.
    /// Default: 1 second.
    pub output_grace: Duration,
    /// Starts the processes, and ends them if the runner dies.
    ///
    /// Default: a supervisor of the provider, started with the first job.
    pub supervisor: Option<Supervisor>,
    /// Fetches functions from git repositories and registries for the steps of a job (`run`).
    ///
    /// Default: none; such a step fails.
    #[cfg(feature = "functions")]
    pub library: Option<std::sync::Arc<dyn steps::Library>>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            login: true,
            builds_dir: "builds".to_owned(),
            cache_dir: "cache".to_owned(),
            inherit_environment: InheritEnvironment::default(),
            containment: Containment::default(),
            output_grace: Duration::from_secs(1),
            supervisor: None,
            #[cfg(feature = "functions")]
            library: None,
        }
    }
}

/// The part of the runner's process environment that jobs inherit, below their own variables.
///
/// A job of this executor runs as the runner's user and can read the runner's environment in the process table anyway,
/// so excluding variables is tidiness, not protection. On a host with secrets in the environment of a runner that
/// untrusted users share, choose [`Only`](Self::Only), and another user for the runner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InheritEnvironment {
    /// All variables, except those that would mislead a job about its own context:
    ///
    /// - variables of an outer job: `CI`, `CI_*`, `GITLAB_CI`, `GITLAB_ENV`;
    /// - settings of runners: `RUNNER_*`, `RUNWRIGHT_*`, `REGISTER_*`, `REGISTRATION_TOKEN`;
    /// - the repository of a Git hook: `GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and similar ones;
    /// - variables of the outer shell: `PWD`, `OLDPWD`, `SHLVL`, `_`.
    #[default]
    All,
    /// Only these. A name that ends in `*` matches all names with that prefix.
    Only(Vec<String>),
}

impl InheritEnvironment {
    /// Returns a small choice with which tools still work: `PATH`, the user, the language, the time zone, and the directory
    /// for temporary files.
    pub fn minimal() -> Self {
        let names = [
            "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
        ];
        Self::Only(names.map(str::to_owned).to_vec())
    }
}
