use super::LfsMode;

/// One step of a [`GitPlan`](super::GitPlan).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitStep {
    /// What the log says before it, if anything.
    pub note: Option<String>,
    /// When it is done at all.
    pub condition: Condition,
    /// What is done.
    pub action: GitAction,
    /// What follows when that fails.
    pub on_failure: OnFailure,
}

/// When a step is done; looked at just before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// In every case.
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

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitAction {
    /// Makes the directory of the working tree, with its parents, and goes there.
    EnterProject,
    /// Removes everything in the directory of the working tree, unwritable directories included,
    /// but not the directory, which may be a mount point.
    EmptyProject,
    /// Removes what must not outlive the job that left it.
    ///
    /// A `.git` that is a file or a symbolic link goes. Then, in `.git` and in every directory
    /// below `.git/modules` that holds a file `HEAD` and a directory `objects`:
    /// [`GIT_DIR_LEFTOVERS`] and each file below `refs` whose name ends in `.lock`. Symbolic links
    /// are removed, never followed.
    CleanGitDir,
    /// Runs git.
    Git(GitCommand),
}

/// A git command without the configuration that all commands of a plan share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitCommand {
    /// The arguments behind the configuration.
    pub args: Vec<String>,
    /// Variables for this command alone.
    pub env: Vec<(String, String)>,
}

/// What follows when a step fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnFailure {
    /// The stage fails.
    Fail,
    /// The next step is done.
    Ignore,
    /// These are done, then the action once more; if that fails too, the stage fails.
    Recover(Vec<GitStep>),
}

/// What [`GitAction::CleanGitDir`] removes from a git directory: files and directories alike.
///
/// Hooks and configuration run commands, `info` changes what is ignored and checked out,
/// `commondir` points elsewhere, and a lock whose owner died blocks every later command.
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

/// What `git lfs install` writes.
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

    /// Returns a command on the repository in the current directory and on no other.
    ///
    /// Without `--git-dir`, git would look upwards when `.git` is broken, and force its checkout on
    /// whatever repository the builds directory lies in.
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

    /// Returns a step whose command makes the repository.
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

    /// Tells git how the files kept in LFS are read and written, which else only a machine or user
    /// with `git lfs install` knows; without, LFS would bring nothing and call that a success.
    pub(super) fn with_lfs_filter(mut self) -> Self {
        if let GitAction::Git(command) = &mut self.action {
            let settings = LFS_FILTER
                .iter()
                .flat_map(|setting| ["-c", setting])
                .map(str::to_owned);
            // Behind the `--git-dir` that begins every command on the repository.
            command.args.splice(1..1, settings);
        }
        self
    }

    /// Makes the checkout skip the files kept in LFS, where they are pulled afterwards.
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
    fn a_command_is_named_without_its_options() {
        let named = |args: &[&str]| GitCommand::in_repository(args).name().to_owned();
        assert_eq!(named(&["fetch", "--", "origin"]), "fetch");
        assert_eq!(named(&["-c", "a.b=c", "lfs", "pull"]), "lfs");
        assert_eq!(GitCommand::default().name(), "git");
    }
}
