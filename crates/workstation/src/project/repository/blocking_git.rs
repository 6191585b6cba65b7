use executor_core::HumanDuration;
use git::{Git, GitError, GitProcesses, RepositoryError, RepositoryFacts};
use job_runner::ListError;
use parking_lot::Mutex;
use process::{NeverStop, ProcessTree, check_runtime_files};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The longest a call may take: a user waits for it.
const DEADLINE: Duration = Duration::from_mins(1);

/// Git in one working tree, for callers that cannot await.
///
/// The processes belong to a thread with a runtime of its own, which starts with the first call, so the caller may be
/// inside a runtime or outside of all.
#[derive(Debug)]
pub(crate) struct BlockingGit {
    root: PathBuf,
    worker: Mutex<Option<Worker>>,
    /// The description that was requested ahead.
    ahead: Mutex<Option<Reply<RepositoryFacts>>>,
}

#[derive(Debug)]
struct Worker {
    calls: Sender<Call>,
    thread: JoinHandle<()>,
}

/// Runs on the thread and sends its result to the caller.
type Call = Box<dyn FnOnce(io::Result<&Started>, &Path) + Send>;

/// What calls run on.
type Started = (Runtime, GitProcesses);

type Reply<T> = Receiver<Result<T, BlockingGitError>>;

/// Why a call of [`BlockingGit`] failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlockingGitError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error("git did not finish within {}", HumanDuration(DEADLINE))]
    Late,
    #[error("the thread for git cannot be started")]
    Thread(#[source] io::Error),
    #[error("the thread for git has ended")]
    Ended,
}

impl BlockingGit {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            worker: Mutex::default(),
            ahead: Mutex::default(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the output of a git command that only reads.
    pub(crate) fn read(&self, args: &[&str]) -> Result<Vec<u8>, BlockingGitError> {
        self.read_in(Path::new(""), args)
    }

    /// As [`read`](Self::read), in a directory below the root, which may be another repository.
    pub(crate) fn read_in(
        &self,
        directory: &Path,
        args: &[&str],
    ) -> Result<Vec<u8>, BlockingGitError> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let directory = directory.to_owned();
        self.call(async move |root, processes| {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let directory = root.join(directory);
            let git = Git::local(processes, &directory);
            git.output(&args, &NeverStop).await
        })
    }

    /// Returns the files of the working tree that are not ignored.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, BlockingGitError> {
        self.call(async |root, processes| job_runner::project_files(root, processes).await)
    }

    /// Returns the files that a snapshot of the working tree takes, also those of repositories inside;
    /// some may be gone.
    #[cfg(feature = "watch")]
    pub(crate) fn snapshot_files(&self) -> Result<Vec<PathBuf>, BlockingGitError> {
        self.call(async |root, processes| job_runner::taken_files(root, processes).await)
    }

    /// Describes the repository.
    pub(crate) fn describe(&self) -> Result<RepositoryFacts, BlockingGitError> {
        let mut ahead = self.ahead.lock();
        let reply = match ahead.take() {
            Some(reply) => reply,
            None => self.start_describing()?,
        };
        drop(ahead);
        reply.recv().map_err(|_| BlockingGitError::Ended)?
    }

    /// Starts to describe the repository, for a later [`Self::describe`].
    pub(crate) fn describe_ahead(&self) {
        // That call reports what went wrong here.
        if let Ok(reply) = self.start_describing() {
            let mut ahead = self.ahead.lock();
            *ahead = Some(reply);
        }
    }

    fn start_describing(&self) -> Result<Reply<RepositoryFacts>, BlockingGitError> {
        self.start(async |root, processes| git::inspect(root, processes).await)
    }

    fn call<T, E>(
        &self,
        work: impl AsyncFnOnce(&Path, &ProcessTree) -> Result<T, E> + Send + 'static,
    ) -> Result<T, BlockingGitError>
    where
        T: Send + 'static,
        E: Into<BlockingGitError>,
    {
        let reply = self.start(work)?;
        reply.recv().map_err(|_| BlockingGitError::Ended)?
    }

    fn start<T, E>(
        &self,
        work: impl AsyncFnOnce(&Path, &ProcessTree) -> Result<T, E> + Send + 'static,
    ) -> Result<Reply<T>, BlockingGitError>
    where
        T: Send + 'static,
        E: Into<BlockingGitError>,
    {
        let (sender, reply) = mpsc::sync_channel(1);
        let call: Call = Box::new(move |started, root| {
            let run = |(runtime, processes): &Started| {
                let work = work(root, processes.tree());
                // Work that is late is dropped, which ends git.
                let done = runtime.block_on(async { tokio::time::timeout(DEADLINE, work).await });
                done.map_err(|_| BlockingGitError::Late)?
                    .map_err(Into::into)
            };
            let done = started.map_err(BlockingGitError::Thread).and_then(run);
            // The caller may be gone.
            let _ = sender.send(done);
        });
        let mut worker = self.worker.lock();
        if worker.is_none() {
            *worker = Some(Worker::start(&self.root)?);
        }
        let worker = worker.as_ref().expect("it was started just now");
        let sent = worker.calls.send(call);
        sent.map_err(|_| BlockingGitError::Ended)?;
        Ok(reply)
    }
}

impl Drop for BlockingGit {
    fn drop(&mut self) {
        if let Some(Worker { calls, thread }) = self.worker.get_mut().take() {
            drop(calls);
            // The caller of a call that panicked has got an error.
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn start(root: &Path) -> Result<Self, BlockingGitError> {
        let (calls, received) = mpsc::channel();
        let root = root.to_owned();
        let thread = std::thread::Builder::new()
            .name("git".to_owned())
            .spawn(move || run_calls(&root, &received))
            .map_err(BlockingGitError::Thread)?;
        Ok(Self { calls, thread })
    }
}

/// Runs calls until no caller is left. If nothing can be started, the first call gets the error.
fn run_calls(root: &Path, calls: &Receiver<Call>) {
    let started = start();
    while let Ok(call) = calls.recv() {
        match started {
            Ok(ref it) => call(Ok(it), root),
            Err(error) => return call(Err(error), root),
        }
    }
    if let Ok((runtime, processes)) = started {
        runtime.block_on(processes.close());
    }
}

fn start() -> io::Result<Started> {
    check_runtime_files()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // Git only reads here and ends by itself, so it needs no guardian.
    let processes = runtime.block_on(async { GitProcesses::start(None) });
    let processes = processes.map_err(io::Error::other)?;
    Ok((runtime, processes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_runs_outside_of_a_runtime_and_inside() {
        let git = BlockingGit::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        let version = || git.read(&["version"]).expect("an output");
        assert!(version().starts_with(b"git version"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let inside = runtime.block_on(async { version() });
        assert!(inside.starts_with(b"git version"));
    }

    #[test]
    fn command_that_fails_is_an_error_with_its_message() {
        let git = BlockingGit::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        let error = git.read(&["no-such-command"]).expect_err("no such command");
        assert!(error.to_string().contains("no-such-command"), "{error}");
    }
}
