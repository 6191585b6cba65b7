//! The agent on a host: uploaded once for each version, started for each job, and reached through its proxy.

use crate::connection::Channel;
use crate::error::SshError;
use crate::host::{ANSWER, Host};
use crate::link::{Link, collect};
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation, JobTrace, JobTraceExt, Retryability};
use fail_point::fail_point;
use parking_lot::Mutex;
use shells::quote_sh;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steps::agent::Agent;
use tokio::time::timeout;

/// How long the upload may take.
pub(crate) const UPLOAD: Duration = Duration::from_mins(5);

/// The size of the pieces of an upload.
const PIECE: usize = 64 * 1024;

/// Receives the agent as the file `$1`. The end of a connection must not leave a part of it under that name.
///
/// Agents of other versions are removed when no job has started one for a month. A running job keeps a hard link to the agent
/// that it started.
const RECEIVE: &str = "umask 077; new=$1.$2; \
    cat >\"$new\" && [ \"$(wc -c <\"$new\")\" -eq \"$3\" ] && chmod 700 \"$new\" && \"$new\" --version >/dev/null && \
    mv -f \"$new\" \"$1\" && { \
    find \"${1%/*}\" -maxdepth 1 -name 'agent-*' -mtime +30 -exec rm -f {} + 2>/dev/null; exit 0; }; \
    rm -f \"$new\"; exit 1";

/// The exit code of a look at an agent that has ended.
const ENDED: i32 = 3;

/// An agent that runs on a host for a job.
#[derive(Debug)]
pub(crate) struct RunningAgent {
    link: Arc<Link>,
    /// The command that exits with [`ENDED`] when the agent does not run any more.
    look: String,
    /// The command that starts a proxy, and what it prints before.
    proxy: String,
    start_mark: String,
    /// The channel that started it, until it is used.
    first: Mutex<Option<Channel>>,
    trace: Arc<dyn JobTrace>,
    /// Whether the log says that the host cannot be reached now.
    said: AtomicBool,
}

/// Uploads the agent if the host does not have it.
///
/// The file gets its name when it is complete, so that jobs which start at the same time do not disturb each other.
pub(crate) async fn upload(
    link: &Link,
    host: &Host,
    agent: &Agent,
    cancellation: &Cancellation,
) -> Result<String, SshError> {
    let failed = |source: std::io::Error| SshError::Config {
        message: format!("read the agent: {source}"),
    };
    let digest = agent.digest().map_err(failed)?;
    let path = format!("{}/agent-{digest}", host.base);
    if host.agent_digest == digest {
        return Ok(path);
    }
    let bytes = agent.bytes().map_err(failed)?;
    let words = [
        "exec",
        "sh",
        "-c",
        &quote(RECEIVE),
        "sh",
        &quote(&path),
        &quote(host.id()),
        &bytes.len().to_string(),
    ];
    let sending = async {
        let mut channel = fail_point!(
            "executor_ssh::agent::upload",
            link.exec(&words.join(" "), cancellation).await
        )?;
        for piece in bytes.chunks(PIECE) {
            // A full disk ends the command early; its message is the error.
            if channel.input.write(piece.to_vec()).await.is_err() {
                break;
            }
        }
        drop(channel.input);
        collect(&mut channel.output)
            .await
            .ok_or_else(|| SshError::Broken {
                host: link.target.address(),
                source: None,
            })
    };
    let answer = tokio::select! {
        sent = timeout(UPLOAD, sending) => sent.unwrap_or_else(|_| Err(SshError::Silent {
            host: link.target.address(),
            doing: "receiving the agent",
            within: UPLOAD,
        })),
        cause = cancellation.canceled() => Err(SshError::Canceled(cause)),
    };
    let answer = answer?;
    match answer.exit.code {
        0 => Ok(path),
        _ => Err(link.host_error("upload the agent", &answer, Retryability::Permanent)),
    }
}

/// Starts the agent and a proxy to it, in one channel.
///
/// The command may be started twice, as when its connection breaks: the agent is started once.
pub(crate) async fn start(
    link: Arc<Link>,
    host: &Host,
    program: &str,
    trace: Arc<dyn JobTrace>,
    cancellation: &Cancellation,
) -> Result<RunningAgent, SshError> {
    let grace = link.options.config.orphan_grace();
    let (own, directory) = (self::program(host), socket_directory(host));
    let serve = quote_words(&steps::agent::serve_command(&own, &directory, Some(grace)));
    let proxy = proxy(host);
    let register = host.register()?;
    // The watcher looks at `agent.pid`: an agent that never listened leaves the directory to the job.
    let start = format!(
        "{register}cd {job} || exit 1\n\
         if mkdir starting 2>/dev/null; then\n\
         ln {program} program 2>/dev/null || cp {program} program || exit 1\n\
         session=$(command -v setsid)\n\
         ($session {serve} </dev/null >/dev/null 2>agent.log & echo $! >agent.started)\n\
         fi\n\
         left=1000\n\
         while [ $left -gt 0 ]; do\n\
         if [ -S agent/agent.sock ]; then\n\
         mv agent.started agent.pid 2>/dev/null\n\
         echo '= start {id}'\n\
         exec {proxy}\n\
         fi\n\
         [ -f agent.started ] && read -r agent <agent.started && ! kill -0 \"$agent\" 2>/dev/null && break\n\
         if sleep 0.02 2>/dev/null; then left=$((left - 1)); else sleep 1; left=$((left - 50)); fi\n\
         done\n\
         cat agent.log >&2\nexit 1",
        id = host.id(),
        job = quote(&host.job_dir),
        program = quote(program),
    );
    let command = format!(
        "exec env RUNWRIGHT_PROCESS_MARKER={} sh -c {}",
        host.id(),
        quote(&start)
    );
    let mut channel = fail_point!(
        "executor_ssh::agent::start",
        link.exec(&command, cancellation).await
    )?;
    channel.output.drop_until(&host.start_mark());
    let agent = RunningAgent::of(link, host, trace)?;
    *agent.first.lock() = Some(channel);
    Ok(agent)
}

impl RunningAgent {
    /// Returns the agent that a job on a host has.
    pub(crate) fn of(
        link: Arc<Link>,
        host: &Host,
        trace: Arc<dyn JobTrace>,
    ) -> Result<Self, SshError> {
        let register = host.register()?;
        let id = host.id();
        let proxy = proxy(host);
        let proxy = format!("{register}echo '= start {id}'\nexec {proxy}");
        let look = format!(
            "{{ read -r agent <{}/agent.pid && kill -0 \"$agent\"; }} 2>/dev/null || exit {ENDED}",
            quote(&host.job_dir)
        );
        Ok(Self {
            link,
            look: format!("exec sh -c {}", quote(&look)),
            proxy: format!("exec sh -c {}", quote(&proxy)),
            start_mark: host.start_mark(),
            first: Mutex::default(),
            trace,
            said: AtomicBool::new(false),
        })
    }

    /// Opens a channel to another proxy.
    async fn open(&self, cancellation: &Cancellation) -> Result<Channel, SshError> {
        // The end of a proxy does not tell whether the agent has ended or the connection.
        let mut looking = self.link.exec(&self.look, cancellation).await?;
        let looked = timeout(ANSWER, collect(&mut looking.output)).await;
        if matches!(looked, Ok(Some(answer)) if answer.exit.code == ENDED) {
            return Err(SshError::Host {
                host: self.link.target.address(),
                message: "the agent of the job has ended".to_owned(),
                retry: Retryability::Permanent,
            });
        }
        drop(looking);
        let mut channel = self.link.exec(&self.proxy, cancellation).await?;
        channel.output.drop_until(&self.start_mark);
        Ok(channel)
    }
}

fn program(host: &Host) -> String {
    format!("{}/program", host.job_dir)
}

fn socket_directory(host: &Host) -> String {
    format!("{}/agent", host.job_dir)
}

/// Returns the command of a proxy.
fn proxy(host: &Host) -> String {
    quote_words(&steps::agent::proxy_command(
        &program(host),
        &socket_directory(host),
    ))
}

fn quote_words(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

/// Ends an agent that does not answer, so that the job can run without it. Returns what it printed, as the reason.
pub(crate) async fn discard(link: &Link, host: &Host) -> String {
    let script = format!(
        "cd {} || exit\ntail -c 2000 agent.log\n\
         for agent in $(cat agent.pid agent.started 2>/dev/null); do\n\
         rm -f agent.pid\nkill -KILL \"$agent\" 2>/dev/null\ndone\n",
        quote(&host.job_dir)
    );
    let answer = link.run(&script, ANSWER, &Cancellation::new()).await;
    answer.map_or_else(|error| error.to_string(), |it| it.stdout.trim().to_owned())
}

#[async_trait::async_trait]
impl StepsConnector for RunningAgent {
    async fn connect(
        &self,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let first = self.first.lock().take();
        if let Some(channel) = first {
            return Ok(Box::new(channel));
        }
        match self.open(cancellation).await {
            Ok(channel) => {
                self.said.store(false, Ordering::Relaxed);
                Ok(Box::new(channel))
            }
            Err(error @ SshError::Canceled(_)) => Err(error.into()),
            Err(error) => {
                let text = executor_core::chain(&error);
                let error = BuildError::from(error);
                if error.is_temporary() && !self.said.swap(true, Ordering::Relaxed) {
                    self.trace.warning_line(&format!(
                        "the job runs on, but its host cannot be reached: {text}"
                    ));
                }
                Err(error)
            }
        }
    }
}

fn quote(word: &str) -> String {
    quote_sh(word).unwrap_or_default()
}
