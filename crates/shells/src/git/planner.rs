use super::flags::{refused_for_clone, refused_for_fetch};
use super::step::{Condition, GitAction, GitStep};
use super::{GitFlagSource, PlanError};
use super::{GitSettings, GitStrategy, LfsMode, Remote, SubmoduleStrategy};
use executor_core::job::{GitInfo, RefType};

/// Collects the steps for the strategies that use git.
pub(super) struct Planner<'p> {
    info: &'p GitInfo,
    remote: &'p Remote,
    settings: &'p GitSettings,
    steps: Vec<GitStep>,
}

impl<'p> Planner<'p> {
    /// Returns a planner without steps.
    pub(super) fn new(info: &'p GitInfo, remote: &'p Remote, settings: &'p GitSettings) -> Self {
        Self {
            info,
            remote,
            settings,
            steps: Vec::new(),
        }
    }

    /// Returns the steps that fetch the sources.
    pub(super) fn sources(mut self) -> Result<Vec<GitStep>, PlanError> {
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

    /// Creates the repository, or reuses the existing one.
    fn repository(&mut self) -> Result<(), PlanError> {
        if self.settings.strategy == GitStrategy::Clone {
            self.steps.push(GitStep::plain(GitAction::EmptyProject));
        } else {
            self.steps.push(GitStep::plain(GitAction::CleanGitDir));
        }
        let uses_clone =
            self.settings.strategy == GitStrategy::Clone && !self.settings.clone_flags.is_empty();
        if uses_clone {
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
        // An empty template directory means none; the machine's own may contain hooks.
        let mut args = vec!["init", "--quiet", "--template="];
        match self.info.repo_object_format.as_str() {
            // Git that is too old for the option only has sha1, so it is not passed.
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
            // In this order, because unshallowing makes the other condition true.
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

    /// Fetches the commit by its name if it did not come with the refs, for example because a
    /// branch has since advanced by more than the depth, or was force-pushed.
    fn fetch_missing(&mut self, depth: Option<&str>) -> Result<(), PlanError> {
        let commit = self.commit()?;
        if let Some(commit) = commit {
            let missing = Condition::CommitMissing(commit.to_owned());
            // If the server refuses, the checkout reports what is missing.
            let step = self
                .fetch_step(depth, &[commit])
                .when(missing)
                .ignoring_failure();
            self.steps.push(step);
        }
        Ok(())
    }

    /// Returns the step that fetches. A branch `a` cannot be fetched if an earlier job left a
    /// branch `a/b`, so if the step fails, all branches of the remote are removed and it is
    /// repeated.
    fn fetch_step(&self, depth: Option<&str>, refspecs: &[&str]) -> GitStep {
        let mut args = vec!["fetch", "--no-recurse-submodules"];
        args.extend(self.settings.fetch_flags.iter().map(String::as_str));
        args.extend(depth);
        args.extend(["--", "origin"]);
        args.extend(refspecs);
        let remove = GitStep::git(&["remote", "remove", "origin"]).ignoring_failure();
        let again = [remove].into_iter().chain(self.remote_steps());
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

    /// Returns the commit to check out; `None` if only a ref is known.
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
            let pull = GitStep::git(&["lfs", "pull"]).with_lfs_filter();
            self.steps.push(pull.when(Condition::Lfs));
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
            // The submodule's URL may have changed with the commit.
            GitStep::git(&sync),
        ]);

        let mut steps = vec![
            // `CleanGitDir` removed the configuration; this and `sync` write it again.
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
            steps.push(pull.with_lfs_filter());
        }
        self.steps.extend(steps);
    }

    /// Returns the step that runs `command`, an sh command line, in each submodule.
    #[expect(clippy::unused_self, reason = "called like the other methods")]
    fn for_each_submodule(&self, recursive: Option<&str>, command: &str) -> GitStep {
        let args = ["submodule", "--quiet", "foreach"]
            .into_iter()
            .chain(recursive)
            .chain([command]);
        GitStep::git(&args.collect::<Vec<_>>()).when(Condition::Submodules)
    }
}

/// Returns the option for a depth; `None` for the whole history.
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

pub(super) fn clean_step(flags: &[String]) -> GitStep {
    let args: Vec<&str> = ["clean"]
        .into_iter()
        .chain(flags.iter().map(String::as_str))
        .collect();
    GitStep::git(&args)
}
