use super::snapshot::{Place, Stay};
use super::take::make_empty;
use crate::off_thread::off_thread;
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
/// Jobs see what is committed and nothing else. They share refs and objects with the user's
/// repository: a job can commit to it.
#[derive(Debug)]
pub struct Worktree {
    root: PathBuf,
    state: OnceCell<State>,
    /// More at a time than there are processors only wait for each other.
    slots: Semaphore,
    turn: Turn,
}

/// Whose turn it is to change what the repository knows of its worktrees: git reads all of it each time,
/// and fails when it finds another one half made.
type Turn = Arc<Mutex<()>>;

/// What there was when the first job asked.
#[derive(Debug)]
struct State {
    commit: String,
    /// Where the repository keeps what it knows of its worktrees.
    registry: PathBuf,
    is_dirty: bool,
}

/// Why a job could not get a worktree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// There is no repository.
    #[error("{} is no git repository", root.display())]
    NoRepository {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// Git failed.
    #[error("{action}")]
    Git {
        /// What was attempted.
        action: &'static str,
        /// What git said.
        #[source]
        source: GitError,
    },
    /// The job's directory could not be made ready.
    #[error("make {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The journal could not be written.
    #[error("note the worktree")]
    Journal(#[source] ProcessError),
    /// The job was stopped meanwhile.
    #[error("stopped")]
    Stopped,
}

/// A worktree that a repository knows of.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Where it does.
    entry: PathBuf,
    supervisor: Supervisor,
    turn: Turn,
    /// What is to be said about it.
    pub(crate) warnings: Vec<String>,
    pub(crate) commit: String,
}

impl Worktree {
    /// Returns the source of worktrees of the repository whose working tree is `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            root: root.into(),
            state: OnceCell::new(),
            slots: Semaphore::new(processors),
            turn: Turn::default(),
        }
    }

    /// Returns the user's own working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes what is empty now, at the end of the run.
    pub async fn discard(&self) {
        if let Some(state) = self.state.get() {
            let registry = state.registry.clone();
            // Git itself removes it when the last worktree goes.
            let _ = off_thread(move || fs::remove_dir(registry)).await;
        }
    }

    /// Makes a worktree in a job's directory.
    ///
    /// # Cancellation
    ///
    /// Stops git, and leaves nothing.
    pub(crate) async fn bring(&self, place: &Place<'_>) -> Result<Checkout, WorktreeError> {
        let state = self.state.get_or_try_init(|| self.look(place)).await?;
        // Closed by nobody, so this always gets one.
        let _slot = self.slots.acquire().await;
        // A name that nobody else has: git would number the names of directories, which cannot be
        // told before, and what is made must be noted before.
        let parent = place.project.parent().unwrap_or(place.builds);
        let passing = place.supervisor.temp_dir(parent, "runwright-");
        let passing = passing.map_err(WorktreeError::Journal)?;
        let name = passing.path().file_name().unwrap_or_default().to_owned();
        let checkout = Checkout {
            entry: state.registry.join(&name),
            supervisor: place.supervisor.clone(),
            turn: Arc::clone(&self.turn),
            warnings: self.warnings(state),
            commit: state.commit.clone(),
        };
        if let (Some(journal), Stay::Job) = (place.supervisor.journal(), place.stay) {
            let noted = journal.record_dir(&checkout.entry);
            noted.map_err(WorktreeError::Journal)?;
        }
        let made = self.check_out(state, passing.path(), place).await;
        match made {
            Ok(()) => Ok(checkout),
            Err(error) => {
                if let Err(left) = checkout.remove().await {
                    let left = &left as &dyn std::error::Error;
                    tracing::warn!(error = left, "A worktree stays known to its repository.");
                }
                Err(error)
            }
        }
    }

    async fn look(&self, place: &Place<'_>) -> Result<State, WorktreeError> {
        let Some(git_dir) = GitDir::at(&self.root) else {
            return Err(WorktreeError::NoRepository {
                root: self.root.clone(),
            });
        };
        let git = WorktreeGit { place };
        let args = ["rev-parse", "--verify", "HEAD^{commit}"];
        let commit = git.run("find the commit", &self.root, &args).await?;
        let args = ["status", "--porcelain", "-z"];
        let status = git.run("look for changes", &self.root, &args).await?;
        let common = fs::canonicalize(&git_dir.common).unwrap_or(git_dir.common);
        Ok(State {
            commit: String::from_utf8_lossy(&commit).trim().to_owned(),
            registry: common.join("worktrees"),
            is_dirty: !status.is_empty(),
        })
    }

    fn warnings(&self, state: &State) -> Vec<String> {
        let warning = state.is_dirty.then(|| {
            format!(
                "{} has changes that are not committed; a worktree does not have them",
                self.root.display()
            )
        });
        warning.into_iter().collect()
    }

    /// Makes the worktree at `passing`, moves it to the job's directory, and fills it there: one
    /// with submodules cannot be moved once it is filled.
    async fn check_out(
        &self,
        state: &State,
        passing: &Path,
        place: &Place<'_>,
    ) -> Result<(), WorktreeError> {
        let project = place.project;
        let emptied = {
            let project = project.to_owned();
            off_thread(move || make_empty(&project).and_then(|()| fs::remove_dir(&project)))
        };
        let target = |source| WorktreeError::Target {
            path: project.to_owned(),
            source,
        };
        emptied.await.flatten().map_err(target)?;
        let [from, to] = [passing, project].map(|path| path.to_str().unwrap_or_default());
        let git = WorktreeGit { place };
        let add = [
            "worktree",
            "add",
            "--quiet",
            "--detach",
            "--no-checkout",
            from,
            &state.commit,
        ];
        let turn = self.turn.lock().await;
        git.run("add a worktree", &self.root, &add).await?;
        let move_ = ["worktree", "move", from, to];
        git.run("move the worktree", &self.root, &move_).await?;
        drop(turn);
        let fill = ["reset", "--quiet", "--hard"];
        git.run("check out the files", project, &fill)
            .await
            .map(drop)
    }
}

impl Checkout {
    /// Makes the repository forget it. The files are removed with the job's directory.
    pub(crate) async fn remove(self) -> Result<(), BuildError> {
        let entry = self.entry.clone();
        let _turn = self.turn.lock().await;
        let removed = off_thread(move || {
            fail_point!("job_runner::worktree::forget", process::remove_tree(&entry))
        });
        let removed = removed.await.flatten();
        removed.map_err(|source| BuildError::system("runner", "forget the worktree", source))?;
        let forget = |journal: &process::Journal| journal.forget_dir(&self.entry);
        let forgotten = self.supervisor.journal().map_or(Ok(()), forget);
        forgotten.map_err(|source| BuildError::system("runner", "forget the worktree", source))
    }
}

/// Git, for one job.
struct WorktreeGit<'g> {
    place: &'g Place<'g>,
}

impl WorktreeGit<'_> {
    async fn run(
        &self,
        action: &'static str,
        directory: &Path,
        args: &[&str],
    ) -> Result<Vec<u8>, WorktreeError> {
        let Place {
            processes,
            cancellation,
            ..
        } = self.place;
        let done = Git::local(processes, directory)
            .output(args, *cancellation)
            .await;
        done.map_err(|source| match source {
            GitError::Stopped => WorktreeError::Stopped,
            source => WorktreeError::Git { action, source },
        })
    }
}

impl WorktreeError {
    /// Says what it means for the job that was to get its files.
    pub(crate) fn into_build_error(self, cancellation: &Cancellation) -> BuildError {
        if matches!(self, Self::Stopped) {
            return BuildError::stopped("runner", cancellation);
        }
        BuildError::System {
            backend: "runner",
            message: "make a worktree".to_owned(),
            source: Some(self.into()),
            retry: Retryability::Temporary,
        }
    }
}
