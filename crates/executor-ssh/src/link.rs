//! The way to one host during a job: a connection that is opened again when it breaks.

use crate::config::SshOptions;
use crate::connection::{Channel, Connection, Event, Exit};
use crate::error::SshError;
use crate::host::ANSWER;
use crate::shell_stage::new_id;
use crate::target::Target;
use executor_core::ability::TerminalSize;
use executor_core::{Cancellation, Retryability};
use fail_point::fail_point;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How much of a command's output is kept, for answers and errors.
const MOST_OUTPUT: usize = 64 * 1024;

/// How long a stop waits for a script that creates something.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// The type of terminal that shells are told.
const TERM: &str = "xterm-256color";

/// Reaches one host.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) target: Target,
    pub(crate) options: Arc<SshOptions>,
    current: Mutex<Option<Connection>>,
}

/// The output of a command that has ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Link {
    pub(crate) fn new(target: Target, options: Arc<SshOptions>) -> Self {
        Self {
            target,
            options,
            current: Mutex::new(None),
        }
    }

    /// Returns the connection, and opens it if necessary.
    pub(crate) async fn connection(
        &self,
        cancellation: &Cancellation,
    ) -> Result<Connection, SshError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|it| !it.is_broken()) {
            return Ok(connection.clone());
        }
        let connection = fail_point!(
            "executor_ssh::link::connect",
            Connection::open(&self.target, &self.options, cancellation).await
        )?;
        *current = Some(connection.clone());
        Ok(connection)
    }

    /// Runs a command. Where the host permits no other channel beside those that are open, it gets a connection of its own.
    ///
    /// When the connection breaks meanwhile, or is found silent, the command is sent again: it must be one that may be started twice.
    pub(crate) async fn exec(
        &self,
        command: &str,
        cancellation: &Cancellation,
    ) -> Result<Channel, SshError> {
        match self.open(command, None, cancellation).await {
            Err(SshError::Broken { .. }) => self.open(command, None, cancellation).await,
            opened => opened,
        }
    }

    /// Runs a command in a terminal, otherwise as [`exec`](Self::exec).
    pub(crate) async fn exec_in_terminal(
        &self,
        command: &str,
        size: TerminalSize,
        cancellation: &Cancellation,
    ) -> Result<Channel, SshError> {
        self.open(command, Some(size), cancellation).await
    }

    async fn open(
        &self,
        command: &str,
        terminal: Option<TerminalSize>,
        cancellation: &Cancellation,
    ) -> Result<Channel, SshError> {
        let connection = self.connection(cancellation).await?;
        let opened = self.open_on(&connection, command, terminal, cancellation);
        match opened.await {
            Err(SshError::Refused { .. }) => {
                let another = Connection::open(&self.target, &self.options, cancellation).await?;
                self.open_on(&another, command, terminal, cancellation)
                    .await
            }
            opened => opened,
        }
    }

    async fn open_on(
        &self,
        connection: &Connection,
        command: &str,
        terminal: Option<TerminalSize>,
        cancellation: &Cancellation,
    ) -> Result<Channel, SshError> {
        let opening = async {
            match terminal {
                Some(size) => connection.exec_in_terminal(command, TERM, size).await,
                None => connection.exec(command).await,
            }
        };
        let since = Instant::now();
        let opened = tokio::select! {
            opened = timeout(ANSWER, opening) => opened,
            cause = cancellation.canceled() => return Err(SshError::Canceled(cause)),
        };
        opened.unwrap_or_else(|_| {
            let silent = SshError::Silent {
                host: self.target.address(),
                doing: "opening a channel",
                within: ANSWER,
            };
            // A host that is only slow would not be faster on another connection, and other channels are in use.
            if !connection.end_if_silent(since) {
                return Err(silent);
            }
            Err(SshError::Broken {
                host: self.target.address(),
                source: Some(silent.into()),
            })
        })
    }

    /// Runs a script with `sh`, which reads it from standard input, and returns its output.
    ///
    /// # Errors
    ///
    /// When it does not end within the time limit, which begins with its channel, or the connection breaks; a failed script is an
    /// answer.
    pub(crate) async fn run(
        &self,
        script: &str,
        within: Duration,
        cancellation: &Cancellation,
    ) -> Result<Answer, SshError> {
        // It has time limits of its own.
        let mut channel = self.exec("exec sh", cancellation).await?;
        let mark = new_id();
        channel.output.drop_until(&format!("{mark}\n"));
        let running = async {
            let script = format!("echo {mark}\n{script}");
            let sent = channel.input.write(script.into_bytes()).await;
            drop(channel.input);
            let answer = collect(&mut channel.output).await;
            answer.ok_or_else(|| SshError::Broken {
                host: self.target.address(),
                source: sent.err().map(Into::into),
            })
        };
        tokio::select! {
            answered = timeout(within, running) => answered.unwrap_or_else(|_| Err(SshError::Silent {
                host: self.target.address(),
                doing: "running a command",
                within,
            })),
            cause = cancellation.canceled() => Err(SshError::Canceled(cause)),
        }
    }

    /// Runs a script that creates something, as [`run`](Self::run). A stop waits a little for its end, so that nothing is
    /// created after the cleanup.
    pub(crate) async fn run_to_end(
        &self,
        script: &str,
        within: Duration,
        cancellation: &Cancellation,
    ) -> Result<Answer, SshError> {
        let never = Cancellation::new();
        let stopped = async {
            let cause = cancellation.canceled().await;
            tokio::time::sleep(STOP_GRACE).await;
            cause
        };
        tokio::select! {
            answered = self.run(script, within, &never) => answered,
            cause = stopped => Err(SshError::Canceled(cause)),
        }
    }

    /// Returns the error of a command that failed on the host.
    pub(crate) fn host_error(&self, doing: &str, answer: &Answer, retry: Retryability) -> SshError {
        let Answer { exit, stderr, .. } = answer;
        let why = match stderr.trim() {
            "" => match &exit.signal {
                Some(signal) => format!("it was ended by signal {signal}"),
                None => format!("exit code {}", exit.code),
            },
            text => text.to_owned(),
        };
        SshError::Host {
            host: self.target.address(),
            message: format!("{doing}: {why}"),
            retry,
        }
    }
}

/// Reads the output of a command to its end; `None` when the connection broke.
pub(crate) async fn collect(output: &mut crate::connection::ChannelOutput) -> Option<Answer> {
    let mut texts = [Vec::new(), Vec::new()];
    let mut keep = |text: usize, bytes: &[u8]| {
        let left = MOST_OUTPUT.saturating_sub(texts[text].len());
        texts[text].extend_from_slice(&bytes[..bytes.len().min(left)]);
    };
    let exit = loop {
        match output.next().await? {
            Event::Stdout(bytes) => keep(0, &bytes),
            Event::Stderr(bytes) => keep(1, &bytes),
            Event::Ended(exit) => break exit,
        }
    };
    let [stdout, stderr] = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
    Some(Answer {
        exit,
        stdout,
        stderr,
    })
}
