//! Interactive shells in the container of a job.

use crate::error::KubernetesError;
use crate::exec::{Exec, PodExec, Streams};
use crate::pod::AGENT;
use executor_core::ability::{Terminal, TerminalRequest, TerminalSession, TerminalSize};
use executor_core::{BuildDirs, BuildError, Cancellation, ShellInfo, StageStatus, StageVariables};
use parking_lot::Mutex;
use shells::{InteractiveShell, SIGNAL_TREE};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Records its process in the directory of the shell, the first argument, and becomes the shell in the directory that is the second
/// argument.
///
/// A session that ended meanwhile has moved the shell's directory, before or after the process was written.
const BEGIN: &str =
    r#"echo "$$" >"$0/process" && [ -d "$0" ] && cd "$1" && shift && exec env "$@""#;

/// Removes the directory of a shell, and sets the arguments of [`SIGNAL_TREE`] if the shell has begun.
const END: &str = r#"mv "$directory" "$directory.ended" || exit 0
[ -r "$directory.ended/process" ] && read -r process <"$directory.ended/process"
rm -rf "$directory.ended"
[ "$process" ] || exit 0
set -- KILL "$process""#;

/// Returns a script that ends the shells that have these directories, a path or a pattern.
fn end_script(directories: &str) -> String {
    format!(
        "for directory in {directories}; do\n[ -d \"$directory\" ] && (\n{END}\n{SIGNAL_TREE}\n)\ndone\nexit 0"
    )
}

/// How long the files of a shell may take, and its end.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a terminal may be silent.
const SILENCE: Duration = Duration::from_secs(50);

/// How many times the end of a shell is tried, and the pause between.
const ATTEMPTS: usize = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// Opens shells in the project's directory, with the variables of the stage that runs.
#[derive(Debug)]
pub(crate) struct PodTerminal {
    exec: PodExec,
    shell: ShellInfo,
    dirs: BuildDirs,
    variables: Mutex<Arc<StageVariables>>,
    /// End the shells with their sessions.
    keepers: Mutex<JoinSet<()>>,
}

impl PodTerminal {
    pub(crate) fn new(exec: PodExec, shell: ShellInfo, dirs: BuildDirs) -> Self {
        Self {
            exec,
            shell,
            dirs,
            variables: Mutex::default(),
            keepers: Mutex::default(),
        }
    }

    /// Sets the variables of shells opened from now on.
    pub(crate) fn set_variables(&self, variables: &Arc<StageVariables>) {
        *self.variables.lock() = Arc::clone(variables);
    }

    /// Ends the shells that another process has opened in the pod.
    pub(crate) async fn end_all(&self) -> Result<(), KubernetesError> {
        let script = end_script(&format!("{AGENT}/shell-*"));
        self.exec.run(&script, &[], PATIENCE).await.map(drop)
    }

    async fn start(&self, request: &TerminalRequest) -> Result<PodSession, BuildError> {
        let variables = request.variables.clone();
        let variables = variables.unwrap_or_else(|| Arc::clone(&self.variables.lock()));
        // Not below the job's directories, which scripts may remove. Another process may have opened shells of the same job.
        let directory = format!("{AGENT}/shell-{:016x}", fastrand::u64(..));
        let mut interactive =
            InteractiveShell::new(&self.shell, &directory, &request.title, &request.history)
                .map_err(|error| BuildError::config(error.to_string()))?;
        interactive.profile = request.profile;
        let script = interactive.setup_script(&variables, &self.dirs.temp_dir)?;
        self.exec
            .run("exec sh", script.as_bytes(), PATIENCE)
            .await?;
        let mut command = ["sh", "-c", BEGIN].map(str::to_owned).to_vec();
        command.extend([directory.clone(), self.dirs.project_dir.clone()]);
        command.push("TERM=xterm-256color".to_owned());
        let environment = interactive.environment().into_iter();
        command.extend(environment.map(|(key, value)| format!("{key}={value}")));
        command.extend(interactive.command().argv().iter().cloned());
        let (started, starting) = oneshot::channel();
        let (wanted, wanted_sizes) = mpsc::unbounded_channel();
        let (sizes, size_changes) = mpsc::unbounded_channel();
        // The receiver exists.
        let _ = wanted.send(request.size);
        let exec = self.exec.clone();
        let keeper = async move {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            // Without a receiver the shell was not awaited.
            let _ = started.send(exec.start(&words, Streams::Terminal).await);
            resize_until_dropped(wanted_sizes, sizes).await;
            end(&exec, &directory).await;
        };
        {
            let mut keepers = self.keepers.lock();
            while keepers.try_join_next().is_some() {}
            keepers.spawn(keeper);
        }
        let stopped = || self.exec.broken("the job has ended");
        Ok(PodSession {
            exec: starting.await.unwrap_or_else(|_| Err(stopped()))?,
            rest: Vec::new(),
            has_ended: false,
            wanted,
            sizes: size_changes,
        })
    }
}

/// Passes the sizes of a terminal on until the session is dropped.
///
/// The last one is repeated, as proxies on the way to the API server close connections that are silent.
async fn resize_until_dropped(
    mut wanted: mpsc::UnboundedReceiver<TerminalSize>,
    sizes: mpsc::UnboundedSender<TerminalSize>,
) {
    let Some(mut size) = wanted.recv().await else {
        return;
    };
    // The session has ended if it does not receive them.
    while sizes.send(size).is_ok() {
        match timeout(SILENCE, wanted.recv()).await {
            Ok(Some(other)) => size = other,
            Ok(None) => return,
            Err(_) => {}
        }
    }
}

/// Ends the processes of a shell: a container runtime lets a command run on whose connection is gone.
async fn end(exec: &PodExec, directory: &str) {
    let script = end_script(directory);
    for _ in 0..ATTEMPTS {
        let Err(error) = exec.run(&script, &[], PATIENCE).await else {
            return;
        };
        let error = executor_core::chain(&error);
        tracing::warn!(pod = exec.pod, error, "A shell cannot be ended now.");
        sleep(PAUSE).await;
    }
}

#[async_trait::async_trait]
impl Terminal for PodTerminal {
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        tokio::select! {
            started = self.start(&request) => Ok(Box::new(started?)),
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }
}

/// One shell. Dropping it ends the shell and its children.
#[derive(Debug)]
struct PodSession {
    exec: Exec,
    /// What was read and not yet taken.
    rest: Vec<u8>,
    has_ended: bool,
    /// Takes sizes until this is dropped.
    wanted: mpsc::UnboundedSender<TerminalSize>,
    /// The sizes to send.
    sizes: mpsc::UnboundedReceiver<TerminalSize>,
}

impl PodSession {
    /// Waits for more output; returns whether there is some.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let mut buffer = [0; 4096];
        let mut buffer = ReadBuf::new(&mut buffer);
        if !self.has_ended {
            // A connection that breaks ends the output.
            let _ = self.exec.poll_resize(cx, &mut self.sizes);
            let read = ready!(Pin::new(&mut self.exec).poll_read(cx, &mut buffer));
            self.has_ended = read.is_err() || buffer.filled().is_empty();
            self.rest.extend_from_slice(buffer.filled());
        }
        Poll::Ready(!self.has_ended)
    }
}

#[async_trait::async_trait]
impl TerminalSession for PodSession {
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError> {
        let sent = self.wanted.send(size).ok().filter(|()| !self.has_ended);
        sent.ok_or_else(|| BuildError::config("the terminal's shell has ended"))
    }

    async fn ended(&mut self) -> Option<StageStatus> {
        while std::future::poll_fn(|cx| self.poll_more(cx)).await {}
        self.exec.exit()
    }
}

impl AsyncRead for PodSession {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.rest.is_empty() {
            if ready!(this.poll_more(cx)) {
                continue;
            }
            if this.exec.exit().is_some() {
                return Poll::Ready(Ok(()));
            }
            let text = match this.exec.reason() {
                reason if reason.is_empty() => "the connection to the pod broke".to_owned(),
                reason => reason,
            };
            let error = io::Error::new(io::ErrorKind::ConnectionAborted, text);
            return Poll::Ready(Err(error));
        }
        let count = this.rest.len().min(buffer.remaining());
        buffer.put_slice(&this.rest[..count]);
        this.rest.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PodSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.exec).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.exec).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.exec).poll_shutdown(cx)
    }
}
