use super::blocking_git::{BlockingGit, BlockingGitError};
use super::changes::{ChangeBase, changed_since, names};
use crate::remote::Outside;
use git::{GitError, RepositoryRefs, toplevel};
use parking_lot::Mutex;
use pipeline::repository::{Paths, Repository, RepositoryError};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

/// The working tree of a project, with its history.
///
/// Blocks while git runs; may be used inside a runtime and outside of all.
#[derive(Debug)]
pub struct GitRepository {
    git: Arc<BlockingGit>,
    situated: OnceLock<Situated>,
    changed: OnceLock<Result<Option<Paths>, RepositoryError>>,
    uncommitted: OnceLock<Result<Paths, RepositoryError>>,
    files: OnceLock<Result<Paths, RepositoryError>>,
    changed_since: ResultByName<Result<Paths, RepositoryError>>,
    files_at: ResultByName<Result<Paths, RepositoryError>>,
    blobs: ResultByName<Result<Option<String>, RepositoryError>>,
    commits: ResultByName<Result<Option<String>, RepositoryError>>,
    /// Finds files of other projects. The reader of the pipeline owns it.
    outside: OnceLock<Weak<Outside>>,
}

/// Results by name, each found once.
#[derive(Debug)]
struct ResultByName<T>(Mutex<HashMap<String, T>>);

impl<T> Default for ResultByName<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> ResultByName<T> {
    fn get_or_find(&self, name: &str, find: impl FnOnce() -> T) -> T {
        // Two callers with one name wait for one result.
        let mut known = self.0.lock();
        if let Some(result) = known.get(name) {
            return result.clone();
        }
        let result = find();
        known.insert(name.to_owned(), result.clone());
        result
    }
}

/// The parts of the situation that a repository needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Situated {
    /// The base of the changed files.
    pub(crate) base: ChangeBase,
    /// The branch the pipeline runs for.
    pub(crate) branch: Option<String>,
    /// The project's path.
    pub(crate) project: String,
    /// The project's default branch.
    pub(crate) default_branch: String,
}

impl GitRepository {
    /// Returns the repository at `root`. Nothing is read before the first request.
    pub fn new(root: &Path) -> Self {
        Self::with_git(Arc::new(BlockingGit::new(root)))
    }

    pub(crate) fn with_git(git: Arc<BlockingGit>) -> Self {
        Self {
            git,
            situated: OnceLock::new(),
            changed: OnceLock::new(),
            uncommitted: OnceLock::new(),
            files: OnceLock::new(),
            changed_since: ResultByName::default(),
            files_at: ResultByName::default(),
            blobs: ResultByName::default(),
            commits: ResultByName::default(),
            outside: OnceLock::new(),
        }
    }

    /// Sets how files of other projects are found; later calls have no effect.
    pub(crate) fn look_outside(&self, outside: &Arc<Outside>) {
        let _ = self.outside.set(Arc::downgrade(outside));
    }

    /// Sets the situation; later calls have no effect.
    pub(crate) fn situate(&self, situated: Situated) {
        let _ = self.situated.set(situated);
    }

    fn situated(&self) -> &Situated {
        self.situated.get_or_init(Situated::default)
    }

    /// Returns the changed files that the user named.
    fn named_changes(&self) -> Option<Paths> {
        match &self.situated().base {
            ChangeBase::Named(paths) => Some(paths.clone()),
            _ => None,
        }
    }

    /// Returns the paths that differ from the commit that is checked out.
    fn uncommitted(&self) -> Result<Paths, RepositoryError> {
        let find = || changed_since(&self.git, "HEAD").map_err(|error| unreadable(&error));
        self.uncommitted.get_or_init(find).clone()
    }

    fn find_changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        let commit = self.commit_of(reference)?;
        let base = merge_base(&self.git, &commit).map_err(|error| unreadable(&error))?;
        // Without a common ancestor every file differs.
        let Some(base) = base else {
            return self.files();
        };
        changed_since(&self.git, &base).map_err(|error| unreadable(&error))
    }

    /// Returns the commit that the pipeline's project has under `reference`.
    ///
    /// The server's branch wins over a local one, which may be old; but the branch the pipeline runs for is the one that is
    /// checked out.
    fn commit_of(&self, reference: &str) -> Result<String, RepositoryError> {
        let unknown = || RepositoryError::UnknownReference(reference.to_owned());
        let branch = reference.strip_prefix("refs/heads/").unwrap_or(reference);
        if self.situated().branch.as_deref() == Some(branch) {
            return self.verified("HEAD").ok_or_else(unknown);
        }
        let remote =
            RepositoryRefs::of(self.git.root()).and_then(|refs| refs.remote_branch(branch));
        let found = remote.or_else(|| self.verified(reference));
        // Only git finds refs in a format other than files.
        let found = found.or_else(|| self.verified(&format!("refs/remotes/origin/{branch}")));
        found.ok_or_else(unknown)
    }

    fn verified(&self, revision: &str) -> Option<String> {
        verified(&self.git, revision)
    }

    fn list_files(&self) -> Result<Paths, RepositoryError> {
        let files = self.git.files().map_err(|error| unreadable(&error))?;
        let names = files.iter().map(|file| file.to_string_lossy().into_owned());
        Ok(names.collect())
    }

    fn list_files_at(&self, reference: Option<&str>) -> Result<Paths, RepositoryError> {
        let default = self.situated().default_branch.clone();
        let commit = match reference {
            Some(reference) => self.commit_of(reference)?,
            None => match self.commit_of(&default) {
                Ok(commit) => commit,
                // The default branch is unknown here; the commit that is checked out is the closest.
                Err(_) => self.commit_of("HEAD")?,
            },
        };
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", &commit];
        let listed = self.git.read(&args).map_err(|error| unreadable(&error))?;
        Ok(names(&listed).collect())
    }

    fn find_blob(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        let full = self.git.root().join(path);
        if !is_inside(path) || !full.is_file() {
            return Ok(None);
        }
        let hashed = self.git.read(&["hash-object", "--", path]);
        let hashed = hashed.map_err(|error| unreadable(&error))?;
        Ok(Some(String::from_utf8_lossy(&hashed).trim().to_owned()))
    }

    fn find_last_commit(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        if !is_inside(path) || toplevel(self.git.root()).is_none() {
            return Ok(None);
        }
        // The commit with the current content does not exist yet, so the content stands for it.
        if self.verified("HEAD").is_none() || self.uncommitted()?.iter().any(|it| it == path) {
            return self.blob_id(path);
        }
        let args = [
            "--literal-pathspecs",
            "log",
            "-1",
            "--format=%H",
            "--no-show-signature",
            "HEAD",
            "--",
            path,
        ];
        let found = self.git.read(&args).map_err(|error| unreadable(&error))?;
        let found = String::from_utf8_lossy(&found).trim().to_owned();
        Ok(Some(found).filter(|found| !found.is_empty()))
    }
}

impl Repository for GitRepository {
    fn changed_files(&self) -> Result<Option<Paths>, RepositoryError> {
        let find = || {
            let base = &self.situated().base;
            base.changed_files(&self.git)
                .map_err(|error| unreadable(&error))
        };
        self.changed.get_or_init(find).clone()
    }

    fn changed_since(&self, reference: &str) -> Result<Paths, RepositoryError> {
        if let Some(named) = self.named_changes() {
            return Ok(named);
        }
        let find = || self.find_changed_since(reference);
        self.changed_since.get_or_find(reference, find)
    }

    fn files(&self) -> Result<Paths, RepositoryError> {
        self.files.get_or_init(|| self.list_files()).clone()
    }

    fn files_of(&self, project: &str, reference: Option<&str>) -> Result<Paths, RepositoryError> {
        if !project.eq_ignore_ascii_case(&self.situated().project) {
            let outside = self.outside.get().and_then(Weak::upgrade);
            let unknown = || RepositoryError::UnknownProject(project.to_owned());
            return outside.ok_or_else(unknown)?.files_of(project, reference);
        }
        let name = reference.unwrap_or_default();
        self.files_at
            .get_or_find(name, || self.list_files_at(reference))
    }

    fn blob_id(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.blobs.get_or_find(path, || self.find_blob(path))
    }

    fn last_commit_of(&self, path: &str) -> Result<Option<String>, RepositoryError> {
        self.commits
            .get_or_find(path, || self.find_last_commit(path))
    }
}

/// Returns the full name of a commit. `revision` may come from a stranger.
pub(crate) fn verified(git: &BlockingGit, revision: &str) -> Option<String> {
    let commit = format!("{revision}^{{commit}}");
    let args = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &commit,
    ];
    let found = git.read(&args).ok()?;
    let found = String::from_utf8(found).ok()?;
    // Git repeats `--end-of-options` where it is older than the option.
    let found = found.lines().last()?.trim().to_owned();
    (!found.is_empty()).then_some(found)
}

/// Returns the last common ancestor of `commit` and the commit that is checked out; `None` when there is none.
pub(crate) fn merge_base(
    git: &BlockingGit,
    commit: &str,
) -> Result<Option<String>, BlockingGitError> {
    match git.read(&["merge-base", commit, "HEAD"]) {
        Ok(found) => {
            let found = String::from_utf8_lossy(&found).trim().to_owned();
            Ok(Some(found).filter(|found| !found.is_empty()))
        }
        // It fails without a message when there is none.
        Err(BlockingGitError::Git(GitError::Failed { stderr, .. })) if stderr.is_empty() => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether `path` stays inside the project.
fn is_inside(path: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.split('/').all(plain)
}

fn unreadable(error: &BlockingGitError) -> RepositoryError {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message.push_str(": ");
        message.push_str(&cause.to_string());
        source = cause.source();
    }
    RepositoryError::Unreadable(message)
}
