//! The agent on a host: uploaded once for each version, started for each job, and reached through its proxy.

use crate::connection::Channel;
use crate::error::SshError;
use crate::host::{ANSWER, Host};
use crate::link::{Link, collect};
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation, Retryability};
use parking_lot::Mutex;
use shells::quote_sh;
use std::sync::Arc;
use std::time::Duration;
use steps::agent::Agent;
use tokio::time::timeout;

/// How long an agent waits for a client that returns, before it ends with its scripts.
const ORPHAN_GRACE: Duration = Duration::from_mins(2);

/// How long the upload may take.
const UPLOAD: Duration = Duration::from_mins(5);

/// The size of the pieces of an upload.
const PIECE: usize = 64 * 1024;

/// Receives the agent as the file `$1`. The end of a connection must not leave a part of it under that name.
const RECEIVE: &str = "umask 077; new=$1.$2; \
    cat >\"$new\" && [ \"$(wc -c <\"$new\")\" -eq \"$3\" ] && chmod 700 \"$new\" && \"$new\" --version >/dev/null && \
    mv -f \"$new\" \"$1\" && exit; \
    rm -f \"$new\"; exit 1";

/// An agent that runs on a host for a job.
#[derive(Debug)]
pub(crate) struct RunningAgent {
    link: Arc<Link>,
    proxy: String,
    /// The channel that started it, until it is used.
    first: Mutex<Option<Channel>>,
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
        let mut channel = link.exec(&words.join(" "), cancellation).await?;
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
/// A second process waits for the end of the agent, however it ends, and removes the job's directory.
pub(crate) async fn start(
    link: Arc<Link>,
    host: &Host,
    program: &str,
    cancellation: &Cancellation,
) -> Result<RunningAgent, SshError> {
    let directory = format!("{}/agent", host.job_dir);
    let serve = steps::agent::serve_command(program, &directory, Some(ORPHAN_GRACE));
    let proxy = steps::agent::proxy_command(program, &directory);
    let [serve, proxy] = [serve, proxy].map(|words| {
        let words: Vec<_> = words.iter().map(|word| quote(word)).collect();
        words.join(" ")
    });
    let start = format!(
        "cd {job} || exit 1\n\
         session=$(command -v setsid)\n\
         $session sh -c {keeper} </dev/null >/dev/null 2>agent.log &\n\
         for _ in 1 2 3 4 5 6 7 8 9; do\n\
         for _ in 1 2 3 4 5 6 7 8 9 10; do\n\
         [ -S agent/agent.sock ] && exec {proxy}\n\
         kill -0 $! 2>/dev/null && [ ! -f agent.ended ] || break 2\n\
         sleep 0.02 2>/dev/null || sleep 1\n\
         done\n\
         done\n\
         cat agent.log >&2\nexit 1",
        job = quote(&host.job_dir),
        keeper = quote(&format!(
            "{serve} & echo $! >agent.pid; wait; : >agent.ended; sleep 1; cd / && rm -rf {}",
            quote(&host.job_dir)
        )),
    );
    let command = format!(
        "exec env RUNWRIGHT_SSH_JOB={} sh -c {}",
        host.id(),
        quote(&start)
    );
    let channel = link.exec(&command, cancellation).await?;
    Ok(RunningAgent {
        link,
        proxy: format!("exec {proxy}"),
        first: Mutex::new(Some(channel)),
    })
}

/// Returns what the agent printed, as the reason why it does not answer.
pub(crate) async fn log(link: &Link, host: &Host) -> String {
    let script = format!("tail -c 2000 {}/agent.log\n", quote(&host.job_dir));
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
        Ok(Box::new(self.link.exec(&self.proxy, cancellation).await?))
    }
}

fn quote(word: &str) -> String {
    quote_sh(word).unwrap_or_default()
}
