use super::destination::{Destination, Lifetime};
use super::tree_copy::make_empty;
use crate::panics::off_thread;
use executor_core::{BuildError, Cancellation, Retryability};
use fail_point::fail_point;
use git::{Git, GitDir, GitError};
use process::{ProcessError, Supervisor};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tokio::sync::{Mutex, OnceCell, Semaphore};

/// The commit that is checked out in a working tree, for which each job gets a Git worktree.
///
/// Jobs see only committed files. They share refs and objects with the user's repository: a job can commit
/// to it.
#[derive(Debug)]
pub struct Worktree {
    root: PathBuf,
    state: OnceCell<State>,
    /// Limits the concurrent checkouts to the number of processors.
    slots: Semaphore,
    registry_lock: RegistryLock,
}

/// Serializes changes of the repository's registry of worktrees: git reads all of it each time, and fails on
/// an incomplete entry.
type RegistryLock = Arc<Mutex<()>>;

/// The state of the repository when the first job started.
#[derive(Debug)]
struct State {
    commit: String,
    /// The directory in which the repository registers its worktrees.
    registry: PathBuf,
    is_dirty: bool,
    /// The filters of the repository's configuration, which do not run.
    ignored_filters: Vec<String>,
}

/// The error of creating a worktree for a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// There is no repository.
    #[error("{} is not a git repository", root.display())]
    NoRepository {
        /// The directory.
        root: PathBuf,
    },
    /// Git failed.
    #[error("{action}")]
    Git {
        /// What was attempted.
        action: &'static str,
        /// Git's error.
        #[source]
        source: GitError,
    },
    /// The job's directory could not be created.
    #[error("create directory {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The journal could not be written.
    #[error("record the worktree")]
    Journal(#[source] ProcessError),
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
}

/// A registered worktree.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Its directory in the registry.
    entry: PathBuf,
    supervisor: Supervisor,
    registry_lock: RegistryLock,
    /// Warnings for the job's log.
    pub(crate) warnings: Vec<String>,
    pub(crate) commit: String,
}

impl Worktree {
    /// Returns a source of worktrees of the repository at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            root: root.into(),
            state: OnceCell::new(),
            slots: Semaphore::new(processors),
            registry_lock: RegistryLock::default(),
        }
    }

    /// Returns the user's own working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the empty registry, at the end of the run.
    pub async fn discard(&self) {
        if let Some(state) = self.state.get() {
            let registry = state.registry.clone();
            // Git does the same when it removes the last worktree.
            let _ = off_thread(move || fs::remove_dir(registry)).await;
        }
    }

    /// Creates a worktree in a job's directory.
    ///
    /// # Cancellation
    ///
    /// Stops git, and leaves nothing behind.
    pub(crate) async fn fill(
        &self,
        destination: &Destination<'_>,
    ) -> Result<Checkout, WorktreeError> {
        let state = self
            .state
            .get_or_try_init(|| self.inspect(destination))
            .await?;
        // The semaphore is never closed, so this always succeeds.
        let _slot = self.slots.acquire().await;
        // A unique name, because the entry must be in the journal before git creates it, and git appends
        // unpredictable numbers to names that exist.
        let parent = destination.project.parent().unwrap_or(destination.builds);
        let staging = destination.supervisor.temp_dir(parent, "runwright-");
        let staging = staging.map_err(WorktreeError::Journal)?;
        let name = staging.path().file_name().unwrap_or_default().to_owned();
        let checkout = Checkout {
            entry: state.registry.join(&name),
            supervisor: destination.supervisor.clone(),
            registry_lock: Arc::clone(&self.registry_lock),
            warnings: self.warnings(state),
            commit: state.commit.clone(),
        };
        if let (Some(journal), Lifetime::Job) =
            (destination.supervisor.journal(), destination.lifetime)
        {
            let noted = journal.record_dir(&checkout.entry);
            noted.map_err(WorktreeError::Journal)?;
        }
        let created = self.check_out(state, staging.path(), destination).await;
        match created {
            Ok(()) => Ok(checkout),
            Err(error) => {
                if let Err(left) = checkout.remove().await {
                    let left = &left as &dyn std::error::Error;
                    tracing::warn!(
                        error = left,
                        "A worktree remains registered in its repository."
                    );
                }
                Err(error)
            }
        }
    }

    async fn inspect(&self, destination: &Destination<'_>) -> Result<State, WorktreeError> {
        let Some(git_dir) = GitDir::at(&self.root) else {
            return Err(WorktreeError::NoRepository {
                root: self.root.clone(),
            });
        };
        let git = WorktreeGit { destination };
        let args = ["rev-parse", "--verify", "HEAD^{commit}"];
        let commit = git.run("find the commit", &self.root, &args).await?;
        // Git would run the filters of a submodule.
        let args = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
        let status = git.run("find changes", &self.root, &args).await?;
        let ignored_filters = git.ignored_filters(&self.root).await?;
        let common = fs::canonicalize(&git_dir.common).unwrap_or(git_dir.common);
        Ok(State {
            commit: String::from_utf8_lossy(&commit).trim().to_owned(),
            registry: common.join("worktrees"),
            is_dirty: !status.is_empty(),
            ignored_filters,
        })
    }

    fn warnings(&self, state: &State) -> Vec<String> {
        let dirty = state.is_dirty.then(|| {
            format!(
                "{} has changes that are not committed; a worktree does not have them",
                self.root.display()
            )
        });
        let filters = (!state.ignored_filters.is_empty()).then(|| {
            format!(
                "filters of the repository's own configuration do not run: {}; `git config --global` makes them yours",
                state.ignored_filters.join(", ")
            )
        });
        dirty.into_iter().chain(filters).collect()
    }

    /// Creates the worktree at `staging`, moves it to the job's directory and checks out the files there:
    /// a worktree with submodules cannot be moved after the checkout.
    async fn check_out(
        &self,
        state: &State,
        staging: &Path,
        destination: &Destination<'_>,
    ) -> Result<(), WorktreeError> {
        let project = destination.project;
        let emptied = {
            let project = project.to_owned();
            off_thread(move || make_empty(&project).and_then(|()| fs::remove_dir(&project)))
        };
        let target = |source| WorktreeError::Target {
            path: project.to_owned(),
            source,
        };
        emptied.await.flatten().map_err(target)?;
        let [from, to] = [staging, project].map(|path| path.to_str().unwrap_or_default());
        let git = WorktreeGit { destination };
        let add = [
            "worktree",
            "add",
            "--quiet",
            "--detach",
            "--no-checkout",
            from,
            &state.commit,
        ];
        let guard = self.registry_lock.lock().await;
        git.run("add a worktree", &self.root, &add).await?;
        let move_ = ["worktree", "move", from, to];
        git.run("move the worktree", &self.root, &move_).await?;
        drop(guard);
        let fill = ["reset", "--quiet", "--hard"];
        git.run("check out the files", project, &fill)
            .await
            .map(drop)
    }
}

impl Checkout {
    /// Removes the registration. The files are removed with the job's directory.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        let entry = self.entry.clone();
        let _guard = self.registry_lock.lock().await;
        let removed = off_thread(move || {
            fail_point!("job_runner::worktree::forget", process::remove_tree(&entry))
        });
        let removed = removed.await.flatten();
        removed
            .map_err(|source| BuildError::system("runner", "unregister the worktree", source))?;
        let forget = |journal: &process::Journal| journal.forget_dir(&self.entry);
        let forgotten = self.supervisor.journal().map_or(Ok(()), forget);
        forgotten.map_err(|source| BuildError::system("runner", "unregister the worktree", source))
    }
}

/// Git, for one job.
struct WorktreeGit<'g> {
    destination: &'g Destination<'g>,
}

impl WorktreeGit<'_> {
    async fn run(
        &self,
        action: &'static str,
        directory: &Path,
        args: &[&str],
    ) -> Result<Vec<u8>, WorktreeError> {
        let cancellation = self.destination.cancellation;
        let done = self.at(directory).output(args, cancellation).await;
        done.map_err(|source| WorktreeError::of_git(action, source))
    }

    async fn ignored_filters(&self, directory: &Path) -> Result<Vec<String>, WorktreeError> {
        let cancellation = self.destination.cancellation;
        let found = self.at(directory).ignored_filters(cancellation).await;
        found.map_err(|source| WorktreeError::of_git("find filters", source))
    }

    /// Returns git that starts nothing the repository's configuration names: a project's own settings may choose worktrees.
    fn at<'d>(&'d self, directory: &'d Path) -> Git<'d> {
        Git::local(self.destination.processes, directory)
    }
}

impl WorktreeError {
    fn of_git(action: &'static str, source: GitError) -> Self {
        match source {
            GitError::Stopped => Self::Stopped,
            source => Self::Git { action, source },
        }
    }

    /// Returns the error of the job that needed the files.
    pub(crate) fn into_build_error(self, cancellation: &Cancellation) -> BuildError {
        if matches!(self, Self::Stopped) {
            return BuildError::stopped("runner", cancellation);
        }
        BuildError::System {
            backend: "runner",
            message: "create a worktree".to_owned(),
            source: Some(self.into()),
            retry: Retryability::Temporary,
        }
    }
}
