use super::LfsMode;

/// One step of a [`GitPlan`](super::GitPlan).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitStep {
    /// A message printed before it.
    pub note: Option<String>,
    /// When it is performed.
    pub condition: Condition,
    /// The action.
    pub action: GitAction,
    /// What follows if that fails.
    pub on_failure: OnFailure,
}

/// When a step is performed; checked just before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    Always,
    /// The file `.git/shallow` exists.
    Shallow,
    /// The file `.git/shallow` does not exist.
    NotShallow,
    /// `git cat-file -e <commit>^{commit}` fails.
    CommitMissing(String),
    /// The file `.gitmodules` exists.
    Submodules,
    /// `git lfs version` succeeds.
    Lfs,
}

/// The action of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitAction {
    /// Creates the directory of the working tree, with its parents, and enters it.
    EnterProject,
    /// Removes everything in the directory of the working tree, including unwritable directories,
    /// but not the directory itself, which may be a mount point.
    EmptyProject,
    /// Removes files that could affect later jobs.
    ///
    /// It removes a `.git` that is a file or a symbolic link. Then, in `.git` and in every
    /// directory below `.git/modules` that contains a file `HEAD` and a directory `objects`, it
    /// removes [`GIT_DIR_LEFTOVERS`] and each file below `refs` whose name ends in `.lock`.
    /// Symbolic links are removed, never followed.
    CleanGitDir,
    /// Runs git.
    Git(GitCommand),
}

/// A git command, without the configuration that all commands of a plan share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCommand {
    /// The arguments after the configuration.
    pub args: Vec<String>,
    /// Variables for this command only.
    pub env: Vec<(String, String)>,
}

/// What follows if a step fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnFailure {
    /// The stage fails.
    Fail,
    /// The next step follows.
    Ignore,
    /// These steps follow, then the action is repeated; if it fails again, the stage fails.
    Recover(Vec<GitStep>),
}

/// The files and directories that [`GitAction::CleanGitDir`] removes from a git directory.
///
/// Hooks and configuration run commands, `info` changes what is ignored and checked out,
/// `commondir` refers to another directory, and a lock whose owner died blocks every later command.
pub const GIT_DIR_LEFTOVERS: [&str; 10] = [
    "hooks",
    "config",
    "config.worktree",
    "info",
    "commondir",
    "index.lock",
    "shallow.lock",
    "HEAD.lock",
    "config.lock",
    "packed-refs.lock",
];

/// The configuration that `git lfs install` writes.
const LFS_FILTER: [&str; 4] = [
    "filter.lfs.clean=git-lfs clean -- %f",
    "filter.lfs.smudge=git-lfs smudge -- %f",
    "filter.lfs.process=git-lfs filter-process",
    "filter.lfs.required=true",
];

impl GitCommand {
    /// Returns the command's name, such as `fetch`.
    pub fn name(&self) -> &str {
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            if arg == "-c" {
                args.next();
            } else if !arg.starts_with('-') {
                return arg;
            }
        }
        "git"
    }

    /// Returns a command that works only on the repository in the current directory.
    ///
    /// Without `--git-dir` and with a broken `.git`, git would search the parent directories, and
    /// force its checkout on a repository that contains the builds directory.
    pub(super) fn in_repository(args: &[&str]) -> Self {
        let args = ["--git-dir=.git"].iter().chain(args);
        Self {
            args: args.map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
        }
    }
}

impl GitStep {
    pub(super) fn plain(action: GitAction) -> Self {
        Self {
            note: None,
            condition: Condition::Always,
            action,
            on_failure: OnFailure::Fail,
        }
    }

    pub(super) fn git(args: &[&str]) -> Self {
        Self::plain(GitAction::Git(GitCommand::in_repository(args)))
    }

    /// Returns a step whose command creates the repository.
    pub(super) fn git_without_repository(args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self::plain(GitAction::Git(GitCommand {
            args,
            env: Vec::new(),
        }))
    }

    pub(super) fn when(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    pub(super) fn noted(mut self, note: String) -> Self {
        self.note = Some(note);
        self
    }

    pub(super) fn ignoring_failure(mut self) -> Self {
        self.on_failure = OnFailure::Ignore;
        self
    }

    pub(super) fn recovering(mut self, steps: Vec<Self>) -> Self {
        self.on_failure = OnFailure::Recover(steps);
        self
    }

    /// Configures the LFS filter, since the machine's user may not have run `git lfs install`;
    /// without it, LFS would fetch nothing and still succeed.
    pub(super) fn with_lfs_filter(mut self) -> Self {
        if let GitAction::Git(command) = &mut self.action {
            let settings = LFS_FILTER
                .iter()
                .flat_map(|setting| ["-c", setting])
                .map(str::to_owned);
            // After the `--git-dir` that begins every command on the repository.
            command.args.splice(1..1, settings);
        }
        self
    }

    /// Makes the checkout skip files in LFS if they are pulled afterwards.
    pub(super) fn with_lfs(mut self, lfs: LfsMode) -> Self {
        if let (GitAction::Git(command), LfsMode::PullAfterCheckout) = (&mut self.action, lfs) {
            command
                .env
                .push(("GIT_LFS_SKIP_SMUDGE".to_owned(), "1".to_owned()));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_command_is_found_among_its_options() {
        let named = |args: &[&str]| GitCommand::in_repository(args).name().to_owned();
        assert_eq!(named(&["fetch", "--", "origin"]), "fetch");
        assert_eq!(named(&["-c", "a.b=c", "lfs", "pull"]), "lfs");
        assert_eq!(GitCommand::default().name(), "git");
    }
}
