//! Runs a command in a service's container.

use crate::engine::Engine;
use crate::error::DockerError;
use bollard::exec::StartExecResults;
use bollard::models::ExecConfig;
use futures_util::StreamExt;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long after the end of its output a command may run, and the pause between requests.
const END: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Runs `command` in the container and returns its exit code.
pub(crate) async fn run(
    engine: &Engine,
    container: &str,
    command: &[String],
) -> Result<i64, DockerError> {
    let doing = || "run a check in a service".to_owned();
    let (id, attached) = start(engine, container, command, false).await?;
    if let StartExecResults::Attached { mut output, .. } = attached {
        while output.next().await.is_some_and(|piece| piece.is_ok()) {}
    }
    let read = Instant::now();
    loop {
        let found = engine.call(doing(), engine.api().inspect_exec(&id)).await?;
        if found.running != Some(true) {
            // Without an exit code it did not run.
            return Ok(found.exit_code.unwrap_or(126));
        }
        if read.elapsed() > END {
            let doing = "wait for the end of a check in a service".to_owned();
            return Err(DockerError::Deadline { doing, after: END });
        }
        sleep(PAUSE).await;
    }
}

/// Starts `command` in the container; returns its id and its streams.
pub(crate) async fn start(
    engine: &Engine,
    container: &str,
    command: &[String],
    input: bool,
) -> Result<(String, StartExecResults), DockerError> {
    let doing = || "run a check in a service".to_owned();
    let config = ExecConfig {
        attach_stdin: Some(input),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        cmd: Some(command.to_vec()),
        ..ExecConfig::default()
    };
    let created = engine.api().create_exec(container, config);
    let id = engine.call(doing(), created).await?.id;
    let started = engine.api().start_exec(&id, None);
    let started = engine.call(doing(), started).await?;
    Ok((id, started))
}

/// Returns the command that runs `script` in the container's shell.
pub(crate) fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}
