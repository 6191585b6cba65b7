use job_runner::{ListError, RepositoryError, RepositoryFacts, ToolError};
use parking_lot::Mutex;
use process::{Containment, ProcessTree, Settings, Supervisor};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest one question may take: somebody sits there and waits.
const DEADLINE: Duration = Duration::from_mins(1);

/// Asks git about one working tree, for callers that cannot await.
///
/// The processes belong to a thread with a runtime of its own, which begins with the first
/// question: the caller may be inside a runtime or outside of all.
#[derive(Debug)]
pub(crate) struct Git {
    root: PathBuf,
    worker: Mutex<Option<Worker>>,
    /// The description that was asked for ahead.
    ahead: Mutex<Option<Receiver<Result<RepositoryFacts, GitError>>>>,
}

#[derive(Debug)]
struct Worker {
    questions: Sender<Question>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Question {
    Read(Vec<String>, SyncSender<Result<Vec<u8>, GitError>>),
    Files(SyncSender<Result<Vec<PathBuf>, GitError>>),
    Taken(SyncSender<Result<Vec<PathBuf>, GitError>>),
    Describe(SyncSender<Result<RepositoryFacts, GitError>>),
}

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    List(#[from] ListError),
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error("git did not answer within {} s", DEADLINE.as_secs())]
    Late,
    #[error("processes cannot be started")]
    Process(#[from] process::ProcessError),
    #[error("the thread that asks git cannot be started")]
    Thread(#[source] std::io::Error),
    #[error("the thread that asks git has ended")]
    Gone,
}

impl Git {
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

    /// Returns what a git command that only reads prints.
    pub(crate) fn read(&self, args: &[&str]) -> Result<Vec<u8>, GitError> {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        self.ask(|answer| Question::Read(args, answer))
    }

    /// Returns the files of the working tree that are not ignored.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, GitError> {
        self.ask(Question::Files)
    }

    /// Returns the files that a snapshot of the working tree takes, also those of repositories inside;
    /// some may be gone.
    pub(crate) fn taken(&self) -> Result<Vec<PathBuf>, GitError> {
        self.ask(Question::Taken)
    }

    /// Describes the repository.
    pub(crate) fn describe(&self) -> Result<RepositoryFacts, GitError> {
        let ahead = self.ahead.lock().take();
        match ahead {
            Some(answered) => answered.recv().map_err(|_| GitError::Gone)?,
            None => self.ask(Question::Describe),
        }
    }

    /// Begins to describe the repository, for the one who will ask for it.
    pub(crate) fn describe_ahead(&self) {
        let (answer, answered) = mpsc::sync_channel(1);
        // Whoever asks finds out what is the matter.
        if self.send(Question::Describe(answer)).is_ok() {
            let mut ahead = self.ahead.lock();
            *ahead = Some(answered);
        }
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(SyncSender<Result<T, GitError>>) -> Question,
    ) -> Result<T, GitError> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.send(question(answer))?;
        answered.recv().map_err(|_| GitError::Gone)?
    }

    fn send(&self, question: Question) -> Result<(), GitError> {
        let mut worker = self.worker.lock();
        if worker.is_none() {
            *worker = Some(Worker::start(&self.root)?);
        }
        let worker = worker.as_ref().expect("it was started just now");
        worker.questions.send(question).map_err(|_| GitError::Gone)
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        let worker = self.worker.get_mut();
        if let Some(Worker { questions, thread }) = worker.take() {
            drop(questions);
            // A panic there was an answer that did not come.
            let _ = thread.join();
        }
    }
}

impl Worker {
    fn start(root: &Path) -> Result<Self, GitError> {
        let (questions, asked) = mpsc::channel();
        let root = root.to_owned();
        let thread = std::thread::Builder::new()
            .name("git".to_owned())
            .spawn(move || work(&root, &asked))
            .map_err(GitError::Thread)?;
        Ok(Self { questions, thread })
    }
}

/// Answers questions until nobody can ask any more.
fn work(root: &Path, asked: &Receiver<Question>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        // Without an answer each question ends with `Gone`.
        return;
    };
    // Git stays in its group and only reads. So there is nothing to be left behind, by whichever way
    // this process ends, and nothing to be removed at its end.
    let settings = Settings {
        containment: Containment::ProcessGroup,
        ..Settings::default()
    };
    let started = runtime.block_on(async { Supervisor::start(settings) });
    let Ok(supervisor) = started else {
        return;
    };
    let processes = supervisor.tree();
    while let Ok(question) = asked.recv() {
        runtime.block_on(answer(root, &processes, question));
    }
    let ended = runtime.block_on(async {
        processes.close().await?;
        supervisor.shutdown().await
    });
    if let Err(error) = ended {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "Processes of git may be left.");
    }
}

async fn answer(root: &Path, processes: &ProcessTree, question: Question) {
    // Whoever asked may have gone meanwhile, which nobody has to know.
    match question {
        Question::Read(args, answer) => {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let _ = answer.send(in_time(job_runner::ask_git(root, processes, &args)).await);
        }
        Question::Files(answer) => {
            let _ = answer.send(in_time(job_runner::project_files(root, processes)).await);
        }
        Question::Taken(answer) => {
            let _ = answer.send(in_time(job_runner::taken_files(root, processes)).await);
        }
        Question::Describe(answer) => {
            let _ = answer.send(in_time(job_runner::inspect(root, processes)).await);
        }
    }
}

/// Awaits an answer; what is late is dropped, which ends git.
async fn in_time<T, E: Into<GitError>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, GitError> {
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(GitError::Late),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_asked_outside_of_a_runtime_and_inside() {
        let git = Git::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        let version = || git.read(&["version"]).expect("an answer");
        assert!(version().starts_with(b"git version"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let inside = runtime.block_on(async { version() });
        assert!(inside.starts_with(b"git version"));
    }

    #[test]
    fn a_command_that_fails_is_an_error_with_its_words() {
        let git = Git::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        let error = git.read(&["no-such-command"]).expect_err("no such command");
        assert!(error.to_string().contains("no-such-command"), "{error}");
    }
}
