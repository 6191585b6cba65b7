//! The settings of the shell executor.

use process::{Containment, Supervisor};
use std::sync::Arc;
use std::time::Duration;
use steps::Library;

/// How jobs run on this host.
///
/// The runner's own settings (`RunnerConfig`) choose the shell's dialect and other directories.
#[derive(Debug, Clone)]
pub struct ShellConfig {
    /// Whether the shell reads the profile files of a login first. Default: yes.
    ///
    /// The job's variables win over what a profile sets.
    pub login: bool,
    /// Where builds live unless the runner says otherwise, as `builds_dir` or `host_builds_dir`. Default:
    /// `builds`.
    ///
    /// A relative path starts at the runner's working directory.
    pub builds_dir: String,
    /// Where caches live unless the runner says otherwise. Default: `cache`.
    pub cache_dir: String,
    /// What a job gets of the runner's own environment. Default: nearly all of it.
    pub inherit_environment: InheritEnvironment,
    /// How the processes of a job are held together. Default: by cgroups where there are any.
    ///
    /// Without effect when `supervisor` is set, which has its own setting.
    pub containment: Containment,
    /// How long a background process may go on writing to the log after the stage's shell ended,
    /// before it is killed. Default: 1 second.
    pub output_grace: Duration,
    /// What starts the processes and guards them against the runner's own death.
    ///
    /// Default: one of the provider's own, started with the first job.
    pub supervisor: Option<Supervisor>,
    /// Who brings the functions that the steps of a job (`run`) name in git repositories and registries.
    ///
    /// Default: nobody; such a step fails.
    pub library: Option<Arc<dyn Library>>,
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
            library: None,
        }
    }
}

/// What a job gets of the runner's environment, below its own variables.
///
/// A job of this executor runs as the runner's user and could read the runner's environment from
/// the process table anyway; so keeping variables out is tidiness, not protection. On a host where
/// operators keep secrets in the environment of a runner that strangers use, choose
/// [`Only`](Self::Only), and another user for the runner.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InheritEnvironment {
    /// All of it, as somebody expects who runs jobs on his own machine, except for what would make
    /// a job believe to be somewhere else:
    ///
    /// - variables of an outer job: `CI`, `CI_*`, `GITLAB_CI`, `GITLAB_ENV`;
    /// - settings of runners: `RUNNER_*`, `RUNWRIGHT_*`, `REGISTER_*`, `REGISTRATION_TOKEN`;
    /// - the repository a Git hook points to: `GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and
    ///   their kin;
    /// - what belongs to the outer shell: `PWD`, `OLDPWD`, `SHLVL`, `_`.
    #[default]
    All,
    /// Only these. A name that ends in `*` stands for all that begin so.
    Only(Vec<String>),
}

impl InheritEnvironment {
    /// Returns a choice that keeps tools working and leaks next to nothing: `PATH`, the user, the
    /// language, the time zone, the directory for temporary files.
    pub fn minimal() -> Self {
        let names = [
            "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
        ];
        Self::Only(names.map(str::to_owned).to_vec())
    }
}
