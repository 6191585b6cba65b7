//! Containers that start once for each script, which their main process reads.

use crate::error::DockerError;
use crate::job::container::execs::{Execs, Running};
use crate::job::container::fault;
use crate::job::container::watch::{ContainerEnd, current_end, end_of_run};
use bollard::container::LogOutput;
use bollard::query_parameters::{AttachContainerOptions, KillContainerOptions};
use executor_core::{Cancellation, JobTrace, TraceStream};
use fail_point::fail_point;
use futures_util::StreamExt;
use shells::MarkedLine;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// How long the engine may take to deliver a signal.
const ANSWER: Duration = Duration::from_secs(10);
/// How much output is kept for an error message.
const KEPT: usize = 4096;

/// Attaches to a stopped container and starts it.
pub(crate) async fn start(container: &Execs, image: &str) -> Result<Running, DockerError> {
    let Execs {
        engine,
        container: id,
        name,
    } = container;
    let options = AttachContainerOptions {
        stream: true,
        stdin: true,
        stdout: true,
        stderr: true,
        ..AttachContainerOptions::default()
    };
    let attached = fail_point!(
        "executor_docker::attached::attach",
        engine
            .call(
                format!("attach to container {name}"),
                engine.api().attach_container(id, Some(options)),
            )
            .await
    );
    let attached = match attached {
        Ok(attached) => attached,
        Err(error) => return Err(explain(container, error).await),
    };
    let started = fail_point!(
        "executor_docker::attached::start",
        engine.api().start_container(id, None).await
    );
    if let Err(error) = started {
        let error = DockerError::from_api(format!("start container {name}"), error);
        return Err(explain(container, fault::explain(image, error)).await);
    }
    Ok(Running {
        id: id.clone(),
        output: attached.output,
        input: attached.input,
    })
}

/// Starts a container unless it runs; its main process waits for a script.
pub(crate) async fn wake(container: &Execs) -> Result<(), DockerError> {
    let Execs {
        engine,
        container: id,
        name,
    } = container;
    // A running container is not affected.
    let starting = engine.api().start_container(id, None);
    let started = engine.call(format!("start container {name}"), starting);
    started.await
}

/// Sends a signal to the main process; ignores one that has ended.
pub(crate) async fn signal(container: &Execs, signal: &str) -> Result<(), DockerError> {
    let options = KillContainerOptions {
        signal: signal.to_owned(),
    };
    let Execs {
        engine, container, ..
    } = container;
    let killing = engine.api().kill_container(container, Some(options));
    let doing = "signal the processes of the stage";
    let killed = tokio::time::timeout(ANSWER, engine.call(doing, killing)).await;
    let killed = killed.unwrap_or_else(|_| {
        Err(DockerError::Deadline {
            doing: doing.to_owned(),
            after: ANSWER,
        })
    });
    match killed {
        Err(error) if !error.is_conflict() && !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Returns the loss of the container as the reason of an error, or else the error.
pub(crate) async fn explain(container: &Execs, error: DockerError) -> DockerError {
    match current_end(&container.engine, &container.container).await {
        Some(end @ (ContainerEnd::Removed | ContainerEnd::EngineGone { .. })) => {
            end.error(&container.name)
        }
        _ => error,
    }
}

/// A container's first script, which reports its shell and its user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShellProbe<'q> {
    pub(crate) image: &'q str,
    /// The beginning of the answer.
    pub(crate) mark: &'q str,
    pub(crate) script: &'q str,
    /// The time limit.
    pub(crate) patience: Duration,
    pub(crate) trace: &'q dyn JobTrace,
}

impl ShellProbe<'_> {
    /// Starts the container for this script; returns the line of the answer.
    ///
    /// Output of the entry point goes to the job's log.
    pub(crate) async fn ask(
        &self,
        container: &Execs,
        cancellation: &Cancellation,
    ) -> Result<MarkedLine, DockerError> {
        let Self {
            image, patience, ..
        } = *self;
        tokio::select! {
            answered = tokio::time::timeout(patience, self.answer(container)) => {
                answered.unwrap_or_else(|_| Err(DockerError::Deadline {
                    doing: format!(
                        "wait for the entry point of image {image} to start the shell that it is \
                         given"
                    ),
                    after: patience,
                }))
            }
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }

    async fn answer(&self, container: &Execs) -> Result<MarkedLine, DockerError> {
        let mut running = start(container, self.image).await?;
        // A process that ended early stops reading; its exit code is the result.
        let _ = running.input.write_all(self.script.as_bytes()).await;
        let _ = running.input.shutdown().await;
        let mut line = MarkedLine::new(self.mark.to_owned());
        let mut kept = Vec::new();
        let mut write = |stream: TraceStream, data: &[u8]| {
            let room = KEPT.saturating_sub(kept.len()).min(data.len());
            kept.extend_from_slice(&data[..room]);
            self.trace.write(stream, data);
        };
        while let Some(Ok(piece)) = running.output.next().await {
            match &piece {
                LogOutput::StdErr { message } => write(TraceStream::STDERR, message),
                other => line.pass(other.as_ref(), |data| write(TraceStream::STDOUT, data)),
            }
        }
        line.finish(|data| write(TraceStream::STDOUT, data));
        // Only an ended container can be started again.
        let end = end_of_run(&container.engine, &container.container).await;
        match end {
            ContainerEnd::Ended { .. } if line.found().is_some() => Ok(line),
            ContainerEnd::Ended {
                code,
                oom_killed: false,
                error,
            } => {
                let output = format!("{}{error}", String::from_utf8_lossy(&kept));
                Err(fault::ended_early(self.image, code, &output))
            }
            end => Err(end.error(&container.name)),
        }
    }
}
