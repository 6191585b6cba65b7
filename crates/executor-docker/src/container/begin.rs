//! Starting a container that says when it is ready.

use crate::container::fault;
use crate::container::ready::Inside;
use crate::container::{JobContainer, ended};
use crate::error::DockerError;
use crate::run::mark::MarkedLine;
use bollard::container::LogOutput;
use bollard::query_parameters::AttachContainerOptions;
use executor_core::{CancelCause, Cancellation, JobTrace, TraceStream};
use futures_util::StreamExt;
use std::time::Duration;

/// The longest of the output that is kept to see what went wrong.
const KEPT: usize = 4096;
/// How long output may come late after the end.
const LATE: Duration = Duration::from_millis(500);

/// Starts a container whose main process says `mark`, and waits for that.
///
/// What the entry point writes before is in the job's log.
pub(crate) async fn begin(
    container: &mut JobContainer,
    image: &str,
    mark: &str,
    patience: Duration,
    trace: &dyn JobTrace,
    cancellation: &Cancellation,
) -> Result<Inside, DockerError> {
    let options = AttachContainerOptions {
        stream: true,
        stdout: true,
        stderr: true,
        ..AttachContainerOptions::default()
    };
    let engine = container.engine().clone();
    let attached = engine
        .call(
            format!("attach to container {}", container.name()),
            engine.api().attach_container(container.id(), Some(options)),
        )
        .await?;
    let mut output = attached.output;
    let started = container.start().await;
    started.map_err(|error| fault::explain(image, error))?;
    let mut line = MarkedLine::new(mark.to_owned());
    let mut kept = Vec::new();
    let mut end = container.end();
    let deadline = tokio::time::sleep(patience);
    tokio::pin!(deadline);
    let mut code = None;
    loop {
        let piece = tokio::select! {
            piece = output.next() => piece,
            end = ended(&mut end), if code.is_none() => {
                code = Some(end);
                deadline.as_mut().reset(tokio::time::Instant::now() + LATE);
                continue;
            }
            () = &mut deadline => match code {
                Some(_) => None,
                None => return Err(DockerError::Deadline {
                    doing: format!(
                        "wait for the entry point of image {image} to start the command that it \
                         is given"
                    ),
                    after: patience,
                }),
            },
            () = cancellation.canceled() => {
                let cause = cancellation.cause().unwrap_or(CancelCause::User);
                return Err(DockerError::Canceled(cause));
            }
        };
        match piece {
            Some(Ok(piece)) => take(&piece, &mut line, &mut kept, trace),
            Some(Err(_)) | None => {
                line.finish(|data| trace.write(TraceStream::STDOUT, data));
                return Err(early(container, image, &kept).await);
            }
        }
        if let Some(inside) = Inside::read(&line) {
            return Ok(inside);
        }
    }
}

fn take(piece: &LogOutput, line: &mut MarkedLine, kept: &mut Vec<u8>, trace: &dyn JobTrace) {
    let mut write = |stream: TraceStream, data: &[u8]| {
        let room = KEPT.saturating_sub(kept.len()).min(data.len());
        kept.extend_from_slice(&data[..room]);
        trace.write(stream, data);
    };
    match piece {
        LogOutput::StdErr { message } => write(TraceStream::STDERR, message),
        other => line.pass(other.as_ref(), |data| write(TraceStream::STDOUT, data)),
    }
}

/// Says why there is no more output and the main process is not ready.
async fn early(container: &JobContainer, image: &str, output: &[u8]) -> DockerError {
    use crate::container::watch::ContainerEnd;
    let mut end = container.end();
    let end = tokio::time::timeout(Duration::from_secs(5), ended(&mut end)).await;
    match end {
        Ok(ContainerEnd::Ended {
            code,
            oom_killed: false,
            error,
        }) => {
            let output = format!("{}{error}", String::from_utf8_lossy(output));
            fault::ended_early(image, code, &output)
        }
        Ok(end) => end.error(container.name()),
        Err(_) => DockerError::ContainerLost {
            container: container.name().to_owned(),
            cause: "the connection to its output broke".to_owned(),
        },
    }
}
