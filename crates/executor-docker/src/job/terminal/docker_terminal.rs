//! Interactive shells in a job's container.

use super::session::{DockerSession, resize_until_dropped};
use crate::error::DockerError;
use crate::job::container::attached;
use crate::job::container::exec_stream::ExecStream;
use crate::job::container::execs::{ExecPlan, Execs};
use crate::job::container::job_container::upload;
use crate::job::files::tree::{Owner, Tree};
use crate::job::stage::mark::new_mark;
use crate::job::stage::signal::Signal;
use executor_core::ability::{Terminal, TerminalRequest, TerminalSession};
use executor_core::{BuildDirs, BuildError, Cancellation, ShellInfo, StageVariables};
use futures_util::StreamExt;
use parking_lot::Mutex;
use shells::{InteractiveShell, MarkedLine, ShellCommand};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Prints the number of its process, then becomes the shell.
const BEGIN: &str = r#"echo "$0 $$"; exec "$@""#;
/// How long a shell may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens shells in the project's directory, with the variables of the stage that runs.
#[derive(Debug)]
pub(crate) struct DockerTerminal {
    execs: Execs,
    shell: ShellInfo,
    dirs: BuildDirs,
    owner: Owner,
    /// Whether the container runs only during stages.
    is_restarted: bool,
    variables: Mutex<Arc<StageVariables>>,
    /// The number of opened shells.
    opened: AtomicU64,
    /// End the shells with their sessions.
    keepers: Mutex<JoinSet<()>>,
}

impl DockerTerminal {
    pub(crate) fn new(execs: Execs, shell: ShellInfo, dirs: BuildDirs, owner: Owner) -> Self {
        Self {
            execs,
            shell,
            dirs,
            owner,
            is_restarted: false,
            variables: Mutex::default(),
            opened: AtomicU64::new(1),
            keepers: Mutex::default(),
        }
    }

    /// Returns the same for a container that runs only during stages.
    pub(crate) fn restarted(self, is_restarted: bool) -> Self {
        Self {
            is_restarted,
            ..self
        }
    }

    /// Sets the variables of shells opened from now on.
    pub(crate) fn set_variables(&self, variables: &Arc<StageVariables>) {
        let mut own = self.variables.lock();
        *own = Arc::clone(variables);
    }

    fn variables(&self) -> Arc<StageVariables> {
        Arc::clone(&self.variables.lock())
    }

    fn program(&self) -> String {
        let program = self.shell.program.clone();
        program.unwrap_or_else(|| self.shell.dialect.to_string())
    }

    /// Uploads the files of a shell to the job's private directory; returns the process to start.
    async fn make(&self, request: &TerminalRequest) -> Result<ExecPlan, DockerError> {
        let variables = request.variables.clone();
        let variables = variables.unwrap_or_else(|| self.variables());
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let name = format!(".shell-{number}");
        let directory = format!("{}/{name}", self.dirs.temp_dir);
        let wrong = |error: shells::ScriptError| DockerError::config(error.to_string());
        let mut interactive =
            InteractiveShell::new(&self.shell, &directory, &request.title, &request.history)
                .map_err(wrong)?;
        interactive.profile = request.profile;
        let files = interactive.files(&variables, &self.dirs.temp_dir);
        let files = files.map_err(|error| DockerError::config(error.to_string()))?;
        let mut tree = Tree::new(self.owner);
        tree.only_directory(&name, 0o700)?;
        for (file, text) in files {
            tree.file(&format!("{name}/{file}"), 0o600, text.as_bytes())?;
        }
        for file in &variables.files {
            if file.is_file_name() {
                tree.file(&file.key, 0o600, &file.content)?;
            }
        }
        let Execs {
            engine, container, ..
        } = &self.execs;
        upload(engine, container, &self.dirs.temp_dir, tree.finish()?).await?;
        let shell: ShellCommand = interactive.command();
        let more = interactive.environment().into_iter();
        let mut environment: Vec<_> = more.map(|(key, value)| format!("{key}={value}")).collect();
        environment.push("TERM=xterm-256color".to_owned());
        Ok(ExecPlan {
            command: shell.argv().to_vec(),
            directory: Some(self.dirs.project_dir.clone()),
            with_input: true,
            at_terminal: true,
            environment,
        })
    }

    async fn start(&self, request: &TerminalRequest) -> Result<DockerSession, DockerError> {
        let mut plan = self.make(request).await?;
        let mark = new_mark();
        let before = [&self.program(), "-c", BEGIN, &mark].map(str::to_owned);
        plan.command = before.into_iter().chain(plan.command).collect();
        if self.is_restarted {
            attached::wake(&self.execs).await?;
        }
        let mut running = self.execs.start(plan).await?;
        let id = running.id.clone();
        let (sizes, size_changes) = mpsc::unbounded_channel();
        // The receiver exists: the session is new.
        let _ = sizes.send(request.size);
        let mut line = MarkedLine::new(mark);
        let mut first = Vec::new();
        while line.found().is_none() {
            match running.output.next().await {
                Some(Ok(piece)) => line.pass(piece.as_ref(), |data| first.extend_from_slice(data)),
                Some(Err(error)) => return Err(DockerError::from_api("open a terminal", error)),
                None => break,
            }
        }
        let process = line.found().map(str::to_owned);
        let (engine, exec) = (self.execs.engine.clone(), id.clone());
        let (execs, program) = (self.execs.clone(), self.program());
        let keeper = async move {
            resize_until_dropped(&engine, &exec, size_changes).await;
            if let Some(process) = process {
                // The end of the container ends the shell anyway.
                let _ = execs.signal(&program, Signal::Kill, &process).await;
            }
        };
        let mut keepers = self.keepers.lock();
        keepers.spawn(keeper);
        let stream = ExecStream::new(running, first);
        Ok(DockerSession::new(self.execs.clone(), id, stream, sizes))
    }
}

#[async_trait::async_trait]
impl Terminal for DockerTerminal {
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        tokio::select! {
            started = tokio::time::timeout(PATIENCE, self.start(&request)) => match started {
                Ok(session) => Ok(Box::new(session?)),
                Err(_) => Err(DockerError::Deadline {
                    doing: "open a terminal".to_owned(),
                    after: PATIENCE,
                }.into()),
            },
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}
