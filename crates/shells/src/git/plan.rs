use super::flags::{refused_for_clone, refused_for_fetch};
use super::{GitSettings, GitStrategy, LfsMode, Remote, SubmoduleStrategy};
use executor_core::job::{GitInfo, RefType};
use std::fmt;

/// The steps that bring a job's sources, in order.
///
/// Carried out, step by step: check the [`Condition`], print the note, do the [`GitAction`]; when
/// that fails, do what [`OnFailure`] says. Commands run in the working tree's directory with
/// [`GitPlan::env`] set, [`GitPlan::unset`] unset, [`Remote::variables`] in the environment and
/// standard input empty. [`GitPlan::argv`] gives a command's whole argument vector.
///
/// No secret is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitPlan {
    /// Configuration that every git command gets with `-c`, which beats what the tree holds.
    pub config: Vec<(String, String)>,
    /// The steps.
    pub steps: Vec<GitStep>,
    /// The steps of [`GitPlan::cleanup`].
    cleanup: Vec<GitStep>,
}

/// One step of a [`GitPlan`].
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

/// Which setting held a refused flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitFlagSource {
    /// [`GitSettings::fetch_flags`].
    Fetch,
    /// [`GitSettings::clone_flags`].
    Clone,
}

impl fmt::Display for GitFlagSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fetch => "GIT_FETCH_EXTRA_FLAGS",
            Self::Clone => "GIT_CLONE_EXTRA_FLAGS",
        })
    }
}

/// Why no plan could be made; the job's configuration is at fault, trying again does not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A commit that is not a whole hexadecimal object name.
    #[error("commit {commit:?} is not a hexadecimal object name")]
    Commit {
        /// The commit.
        commit: String,
    },
    /// A ref or refspec that would be an option, or that holds a control character.
    #[error("ref {name:?} begins with a dash or holds a control character")]
    Ref {
        /// The name.
        name: String,
    },
    /// There is neither a commit nor a ref.
    #[error("neither a commit nor a ref to check out")]
    Nothing,
    /// A flag with which git would run a program or leave its directory.
    #[error("flag {flag:?} of {source_variable} is not allowed")]
    Flag {
        /// The flag.
        flag: String,
        /// Where it was.
        source_variable: GitFlagSource,
    },
    /// An object format git does not have.
    #[error("object format {format:?} is neither sha1 nor sha256")]
    ObjectFormat {
        /// The format.
        format: String,
    },
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

/// Variables that would make git work on another repository than the job's.
///
/// They are set when a pipeline is started from inside a git hook, for one.
const UNSET: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
];

/// Nobody is there to answer a question, so none is asked.
const ENV: [(&str, &str); 3] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GCM_INTERACTIVE", "Never"),
];

impl GitPlan {
    /// Makes the plan that brings `info` from `remote`.
    ///
    /// # Errors
    ///
    /// A [`PlanError`] when a commit, ref or flag cannot be handed to git safely.
    pub fn new(info: &GitInfo, remote: &Remote, settings: &GitSettings) -> Result<Self, PlanError> {
        let steps = match settings.strategy {
            GitStrategy::None => return Ok(Self::default()),
            GitStrategy::Empty => return Ok(Self::clear()),
            GitStrategy::Fetch | GitStrategy::Clone => Builder {
                info,
                remote,
                settings,
                steps: Vec::new(),
            }
            .sources()?,
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
    /// tries of getting the sources.
    pub fn clear() -> Self {
        let steps = [GitAction::EnterProject, GitAction::EmptyProject].map(GitStep::plain);
        Self {
            steps: steps.to_vec(),
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
        &UNSET
    }

    /// Returns the argument vector of `command`, the program first.
    pub fn argv(&self, command: &GitCommand) -> Vec<String> {
        let mut argv = vec!["git".to_owned()];
        argv.extend(self.config_args());
        argv.extend(command.args.iter().cloned());
        argv
    }

    /// Returns the arguments that carry the shared configuration.
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

    /// Returns the git command that finds out whether `commit` is missing: it fails if so.
    pub fn commit_check(commit: &str) -> GitCommand {
        GitCommand::in_repository(&["cat-file", "-e", &format!("{commit}^{{commit}}")])
    }

    /// Returns the git command that succeeds where Git LFS is installed.
    pub fn lfs_check() -> GitCommand {
        GitCommand {
            args: ["lfs", "version"].map(str::to_owned).to_vec(),
            env: Vec::new(),
        }
    }
}

impl GitCommand {
    /// Returns a command on the repository in the current directory and on no other.
    ///
    /// Without `--git-dir`, git would look upwards when `.git` is broken, and force its checkout on
    /// whatever repository the builds directory lies in.
    fn in_repository(args: &[&str]) -> Self {
        let args = ["--git-dir=.git"].iter().chain(args);
        Self {
            args: args.map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
        }
    }
}

impl GitStep {
    fn plain(action: GitAction) -> Self {
        Self {
            note: None,
            condition: Condition::Always,
            action,
            on_failure: OnFailure::Fail,
        }
    }

    fn git(args: &[&str]) -> Self {
        Self::plain(GitAction::Git(GitCommand::in_repository(args)))
    }

    /// Returns a step whose command makes the repository.
    fn git_without_repository(args: &[&str]) -> Self {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Self::plain(GitAction::Git(GitCommand {
            args,
            env: Vec::new(),
        }))
    }

    fn when(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    fn noted(mut self, note: String) -> Self {
        self.note = Some(note);
        self
    }

    fn ignoring_failure(mut self) -> Self {
        self.on_failure = OnFailure::Ignore;
        self
    }

    fn recovering(mut self, steps: Vec<Self>) -> Self {
        self.on_failure = OnFailure::Recover(steps);
        self
    }

    /// Makes the checkout skip the files kept in LFS, where they are pulled afterwards.
    fn with_lfs(mut self, lfs: LfsMode) -> Self {
        if let (GitAction::Git(command), LfsMode::PullAfterCheckout) = (&mut self.action, lfs) {
            command
                .env
                .push(("GIT_LFS_SKIP_SMUDGE".to_owned(), "1".to_owned()));
        }
        self
    }
}

/// Returns the configuration that every command gets, the stronger later.
fn config(remote: &Remote, settings: &GitSettings) -> Vec<(String, String)> {
    let fixed = [
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("init.defaultBranch", "none"),
        ("fetch.recurseSubmodules", "false"),
        ("submodule.recurse", "false"),
        ("advice.detachedHead", "false"),
        // Work in the background would outlive the stage and hold locks in the tree.
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

fn clean_step(flags: &[String]) -> GitStep {
    let args: Vec<&str> = ["clean"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    GitStep::git(&args)
}

/// Collects the steps of the strategies that use git.
struct Builder<'p> {
    info: &'p GitInfo,
    remote: &'p Remote,
    settings: &'p GitSettings,
    steps: Vec<GitStep>,
}

impl Builder<'_> {
    fn sources(mut self) -> Result<Vec<GitStep>, PlanError> {
        self.refuse_flags()?;
        self.steps.push(GitStep::plain(GitAction::EnterProject));
        self.repository()?;
        self.fetch()?;
        self.checkout()?;
        self.submodules();
        Ok(self.steps)
    }

    fn refuse_flags(&self) -> Result<(), PlanError> {
        let GitSettings {
            fetch_flags,
            clone_flags,
            ..
        } = self.settings;
        let fetch = refused_for_fetch(fetch_flags).map(|flag| (flag, GitFlagSource::Fetch));
        let clone = refused_for_clone(clone_flags).map(|flag| (flag, GitFlagSource::Clone));
        match fetch.or(clone) {
            Some((flag, source_variable)) => Err(PlanError::Flag {
                flag: flag.to_owned(),
                source_variable,
            }),
            None => Ok(()),
        }
    }

    /// Makes the repository, or takes over the one that is there.
    fn repository(&mut self) -> Result<(), PlanError> {
        if self.settings.strategy == GitStrategy::Clone {
            self.steps.push(GitStep::plain(GitAction::EmptyProject));
        } else {
            self.steps.push(GitStep::plain(GitAction::CleanGitDir));
        }
        let native =
            self.settings.strategy == GitStrategy::Clone && !self.settings.clone_flags.is_empty();
        if native {
            self.clone();
        } else {
            self.init()?;
        }
        self.steps.extend(self.remote_steps());
        Ok(())
    }

    fn remote_steps(&self) -> [GitStep; 2] {
        let refspec = "+refs/heads/*:refs/remotes/origin/*";
        [
            GitStep::git(&["config", "remote.origin.url", self.remote.url()]),
            GitStep::git(&["config", "remote.origin.fetch", refspec]),
        ]
    }

    fn init(&mut self) -> Result<(), PlanError> {
        // An empty template directory means none: the machine's own may hold hooks.
        let mut args = vec!["init", "--quiet", "--template="];
        match self.info.repo_object_format.as_str() {
            // Not spelled out for sha1, which git older than the option knows alone.
            "" | "sha1" => {}
            "sha256" => args.push("--object-format=sha256"),
            format => {
                return Err(PlanError::ObjectFormat {
                    format: format.to_owned(),
                });
            }
        }
        self.steps.push(GitStep::git_without_repository(&args));
        Ok(())
    }

    fn clone(&mut self) {
        let depth = depth_flag(self.settings.depth);
        let mut args = vec!["clone", "--no-checkout", "--template="];
        args.extend(self.settings.clone_flags.iter().map(String::as_str));
        args.extend(depth.as_deref());
        args.extend(["--", self.remote.url(), "."]);
        self.steps.push(GitStep::git_without_repository(&args));
    }

    fn fetch(&mut self) -> Result<(), PlanError> {
        let refspecs = self.refspecs()?;
        let refspecs: Vec<&str> = refspecs.iter().map(String::as_str).collect();
        let Some(depth) = depth_flag(self.settings.depth) else {
            let note = "Fetching changes...".to_owned();
            let all = self.fetch_step(None, &refspecs).when(Condition::NotShallow);
            let rest = self
                .fetch_step(Some("--unshallow"), &refspecs)
                .when(Condition::Shallow);
            // This order, because unshallowing makes the other condition true.
            self.steps
                .extend([all.noted(note.clone()), rest.noted(note)]);
            return self.fetch_missing(None);
        };
        let note = format!(
            "Fetching changes with git depth set to {}...",
            self.settings.depth
        );
        let step = self.fetch_step(Some(&depth), &refspecs).noted(note);
        self.steps.push(step);
        self.fetch_missing(Some(&depth))
    }

    /// Fetches the commit by its name if the refs did not bring it, as when a branch moved on
    /// further than the depth, or was forced elsewhere.
    fn fetch_missing(&mut self, depth: Option<&str>) -> Result<(), PlanError> {
        let commit = self.commit()?;
        if let Some(commit) = commit {
            let missing = Condition::CommitMissing(commit.to_owned());
            // If the server refuses, the checkout says what is missing.
            let step = self
                .fetch_step(depth, &[commit])
                .when(missing)
                .ignoring_failure();
            self.steps.push(step);
        }
        Ok(())
    }

    /// Returns the step that fetches; a branch `a` cannot come where an earlier job left `a/b`, so
    /// when it fails, it is done again without any branch of the remote's.
    fn fetch_step(&self, depth: Option<&str>, refspecs: &[&str]) -> GitStep {
        let mut args = vec!["fetch", "--no-recurse-submodules"];
        args.extend(self.settings.fetch_flags.iter().map(String::as_str));
        args.extend(depth);
        args.extend(["--", "origin"]);
        args.extend(refspecs);
        let forget = GitStep::git(&["remote", "remove", "origin"]).ignoring_failure();
        let again = [forget].into_iter().chain(self.remote_steps());
        GitStep::git(&args).recovering(again.collect())
    }

    fn refspecs(&self) -> Result<Vec<String>, PlanError> {
        let GitInfo {
            refspecs,
            ref_name,
            ref_type,
            ..
        } = self.info;
        for name in refspecs.iter().chain([ref_name]) {
            refuse_ref(name)?;
        }
        if !refspecs.is_empty() {
            return Ok(refspecs.clone());
        }
        if ref_name.is_empty() {
            let all = [
                "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*",
            ];
            return Ok(all.map(str::to_owned).to_vec());
        }
        if ref_name.starts_with("refs/") {
            return Ok(vec![format!("+{ref_name}:{ref_name}")]);
        }
        Ok(vec![match ref_type {
            RefType::Branch => format!("+refs/heads/{ref_name}:refs/remotes/origin/{ref_name}"),
            RefType::Tag => format!("+refs/tags/{ref_name}:refs/tags/{ref_name}"),
        }])
    }

    /// Returns the commit to check out; `None` when only a ref is known.
    fn commit(&self) -> Result<Option<&str>, PlanError> {
        let commit = self.info.sha.as_str();
        let is_name =
            matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        match commit {
            "" => Ok(None),
            _ if is_name => Ok(Some(commit)),
            _ => Err(PlanError::Commit {
                commit: commit.to_owned(),
            }),
        }
    }

    fn checkout(&mut self) -> Result<(), PlanError> {
        let GitInfo {
            ref_name, ref_type, ..
        } = self.info;
        let target = match (self.commit()?, ref_type) {
            (Some(commit), _) => commit.to_owned(),
            (None, _) if ref_name.is_empty() => return Err(PlanError::Nothing),
            (None, _) if ref_name.starts_with("refs/") => ref_name.clone(),
            (None, RefType::Branch) => format!("refs/remotes/origin/{ref_name}"),
            (None, RefType::Tag) => format!("refs/tags/{ref_name}"),
        };
        if !self.settings.checkout {
            return Ok(());
        }
        let short = target
            .get(..8)
            .filter(|_| self.info.sha == target)
            .unwrap_or(&target);
        let note = format!("Checking out {short} as detached HEAD (ref is {ref_name})...");
        let lfs = self.settings.lfs;
        let checkout = ["checkout", "--force", "--detach", "--quiet", &target, "--"];
        self.steps
            .push(GitStep::git(&checkout).noted(note).with_lfs(lfs));
        if let Some(flags) = &self.settings.clean_flags {
            self.steps.push(clean_step(flags));
        }
        if lfs == LfsMode::PullAfterCheckout {
            self.steps
                .push(GitStep::git(&["lfs", "pull"]).when(Condition::Lfs));
        }
        Ok(())
    }

    fn submodules(&mut self) {
        let settings = &self.settings.submodules;
        let recursive = match settings.strategy {
            SubmoduleStrategy::None => return,
            SubmoduleStrategy::Normal => None,
            SubmoduleStrategy::Recursive => Some("--recursive"),
        };
        let kind = if recursive.is_some() {
            " recursively"
        } else {
            ""
        };
        let note = format!("Updating submodules{kind}...");
        let depth = depth_flag(settings.depth);
        let paths = || {
            ["--"]
                .into_iter()
                .chain(settings.paths.iter().map(String::as_str))
        };

        let init: Vec<&str> = ["submodule", "--quiet", "init"]
            .into_iter()
            .chain(paths())
            .collect();
        let sync = ["submodule", "--quiet", "sync"]
            .into_iter()
            .chain(recursive)
            .chain(paths());
        let sync: Vec<&str> = sync.collect();
        let update = ["submodule", "update", "--init", "--force"]
            .into_iter()
            .chain(recursive)
            .chain(depth.as_deref())
            .chain(settings.update_flags.iter().map(String::as_str))
            .chain(paths());
        let update: Vec<&str> = update.collect();

        let when = Condition::Submodules;
        let lfs = self.settings.lfs;
        let clean: Vec<GitStep> = self
            .settings
            .clean_flags
            .iter()
            .map(|flags| {
                let words: Vec<String> = flags.iter().map(|flag| crate::quote::sh(flag)).collect();
                let command = format!("git clean {}", words.join(" "));
                self.for_each_submodule(recursive, &command)
            })
            .collect();
        let again = clean.iter().cloned().map(GitStep::ignoring_failure).chain([
            // The submodule's own address may have changed with the commit.
            GitStep::git(&sync),
        ]);

        let mut steps = vec![
            // Our own clean-up took the configuration; this and `sync` write it anew.
            GitStep::git(&init).when(when.clone()).noted(note),
            GitStep::git(&sync).when(when.clone()),
            GitStep::git(&update)
                .when(when.clone())
                .with_lfs(lfs)
                .recovering(again.collect()),
        ];
        steps.extend(clean);
        if lfs == LfsMode::PullAfterCheckout {
            let pull = self.for_each_submodule(
                recursive,
                "git lfs version >/dev/null 2>&1 || exit 0; git lfs pull",
            );
            steps.push(pull);
        }
        self.steps.extend(steps);
    }

    /// Returns the step that runs `command`, a line for sh, in each submodule.
    #[expect(clippy::unused_self, reason = "reads like its siblings at the call")]
    fn for_each_submodule(&self, recursive: Option<&str>, command: &str) -> GitStep {
        let args = ["submodule", "--quiet", "foreach"]
            .into_iter()
            .chain(recursive)
            .chain([command]);
        GitStep::git(&args.collect::<Vec<_>>()).when(Condition::Submodules)
    }
}

/// Returns the option for a depth; `None` for all commits.
fn depth_flag(depth: u32) -> Option<String> {
    (depth > 0).then(|| format!("--depth={depth}"))
}

fn refuse_ref(name: &str) -> Result<(), PlanError> {
    let bare = name.strip_prefix('+').unwrap_or(name);
    if bare.starts_with('-') || name.chars().any(char::is_control) {
        return Err(PlanError::Ref {
            name: name.to_owned(),
        });
    }
    Ok(())
}
