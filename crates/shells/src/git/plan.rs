use super::planner::{Planner, clean_step};
use super::{GitAction, GitCommand, GitStep, PlanError};
use super::{GitSettings, GitStrategy, Remote};
use executor_core::job::GitInfo;
use executor_core::variable::GIT_REPOSITORY_VARIABLES;

/// The steps that fetch a job's sources, in order.
///
/// To perform a step: check its [`Condition`](super::Condition), print the note and perform the
/// [`GitAction`]; if that fails, follow [`OnFailure`](super::OnFailure). Commands run in the
/// working tree's directory with [`GitPlan::env`] set, [`GitPlan::unset`] unset,
/// [`Remote::variables`] in the environment and an empty standard input. [`GitPlan::argv`] returns
/// a command's argument vector.
///
/// It contains no secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitPlan {
    /// Configuration that every git command gets with `-c`, which overrides that of the tree.
    pub config: Vec<(String, String)>,
    /// The steps.
    pub steps: Vec<GitStep>,
    /// The steps of [`GitPlan::cleanup`].
    cleanup: Vec<GitStep>,
}

/// Variables that keep git from asking questions, since no user is there to answer.
const ENV: [(&str, &str); 3] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GCM_INTERACTIVE", "Never"),
];

impl GitPlan {
    /// Plans how to fetch `info` from `remote`.
    ///
    /// # Errors
    ///
    /// A [`PlanError`] if a commit, ref or flag cannot be passed to git safely.
    pub fn new(info: &GitInfo, remote: &Remote, settings: &GitSettings) -> Result<Self, PlanError> {
        let steps = match settings.strategy {
            GitStrategy::None => return Ok(Self::default()),
            GitStrategy::Empty => return Ok(Self::clear()),
            GitStrategy::Fetch | GitStrategy::Clone => {
                Planner::new(info, remote, settings).sources()?
            }
        };
        let cleanup = settings.clean_flags.iter().flat_map(|flags| {
            [
                GitStep::plain(GitAction::EnterProject),
                GitStep::git(&["reset", "--hard", "--quiet"]).ignoring_failure(),
                clean_step(flags).ignoring_failure(),
            ]
        });
        let cleanup = cleanup.collect();
        Ok(Self {
            config: config(remote, settings),
            steps,
            cleanup,
        })
    }

    /// Returns the plan that empties the working tree, for `GIT_STRATEGY=empty` and between two
    /// attempts to fetch the sources.
    pub fn clear() -> Self {
        let steps = [GitAction::EnterProject, GitAction::EmptyProject].map(GitStep::plain);
        Self {
            steps: steps.to_vec(),
            ..Self::default()
        }
    }

    /// Returns the plan that says that no sources are fetched, and creates the directory of the working tree.
    pub fn skipped() -> Self {
        let step = GitStep {
            note: Some("Skipping Git repository setup".to_owned()),
            ..GitStep::plain(GitAction::EnterProject)
        };
        Self {
            steps: vec![step],
            ..Self::default()
        }
    }

    /// Returns the plan that resets and cleans the working tree after the job
    /// (`FF_ENABLE_JOB_CLEANUP`).
    pub fn cleanup(&self) -> Self {
        let config = self.config.clone();
        Self {
            config,
            steps: self.cleanup.clone(),
            cleanup: Vec::new(),
        }
    }

    /// Returns the variables to set for every command.
    pub fn env(&self) -> &'static [(&'static str, &'static str)] {
        &ENV
    }

    /// Returns the variables to unset for every command.
    pub fn unset(&self) -> &'static [&'static str] {
        &GIT_REPOSITORY_VARIABLES
    }

    /// Returns the argument vector of `command`, the program first.
    pub fn argv(&self, command: &GitCommand) -> Vec<String> {
        let mut argv = vec!["git".to_owned()];
        argv.extend(self.config_args());
        argv.extend(command.args.iter().cloned());
        argv
    }

    /// Returns the arguments with the shared configuration.
    pub(crate) fn config_args(&self) -> impl Iterator<Item = String> {
        self.config
            .iter()
            .flat_map(|(key, value)| ["-c".to_owned(), format!("{key}={value}")])
    }

    /// Returns whether any step runs git.
    pub(crate) fn needs_git(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step.action, GitAction::Git(_)))
    }

    /// Returns the git command that fails if `commit` is missing.
    pub fn commit_check(commit: &str) -> GitCommand {
        GitCommand::in_repository(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
    }

    /// Returns the git command that succeeds if Git LFS is installed.
    pub fn lfs_check() -> GitCommand {
        GitCommand {
            args: ["lfs", "version"].map(str::to_owned).to_vec(),
            env: Vec::new(),
        }
    }
}

/// Returns the configuration that every command gets; later entries override earlier ones.
fn config(remote: &Remote, settings: &GitSettings) -> Vec<(String, String)> {
    let fixed = [
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("init.defaultBranch", "none"),
        ("fetch.recurseSubmodules", "false"),
        ("submodule.recurse", "false"),
        ("advice.detachedHead", "false"),
        // Background tasks would outlive the stage and hold locks in the tree.
        ("gc.autoDetach", "false"),
        ("maintenance.autoDetach", "false"),
        ("credential.interactive", "false"),
    ];
    let mut config: Vec<_> = fixed
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    config.extend(remote.protocol_config());
    config.extend(remote.credential_config());
    if settings.submodules.force_https {
        config.extend(remote.force_https_config());
    }
    if settings.safe_directory {
        config.push(("safe.directory".to_owned(), "*".to_owned()));
    }
    config
}
