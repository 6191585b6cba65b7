//! Starts a container and waits until it reports that it is ready.

use crate::engine::pending_request::unless_stopped;
use crate::error::DockerError;
use crate::job::container::execs::Output;
use crate::job::container::fault;
use crate::job::container::{JobContainer, ended};
use bollard::container::LogOutput;
use bollard::query_parameters::AttachContainerOptions;
use executor_core::{Cancellation, JobTrace, TraceStream};
use futures_util::{FutureExt, StreamExt};
use shells::MarkedLine;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// How much output is kept for an error message.
const KEPT: usize = 4096;
/// How long output may arrive after the end.
const LATE: Duration = Duration::from_millis(500);

/// The start of a container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Startup<'b> {
    pub(crate) image: &'b str,
    /// The text for the standard input of the main process, which stays open; none if empty.
    pub(crate) script: &'b str,
    /// The text that the main process prints when it is ready, at the beginning of a line.
    pub(crate) mark: &'b str,
    /// The time limit.
    pub(crate) patience: Duration,
    pub(crate) trace: &'b Arc<dyn JobTrace>,
}

impl Startup<'_> {
    /// Starts the container and waits until it is ready; returns the marked line.
    ///
    /// Earlier output of the entry point goes to the job's log.
    pub(crate) async fn begin(
        &self,
        container: &mut JobContainer,
        cancellation: &Cancellation,
    ) -> Result<MarkedLine, DockerError> {
        begin(self, container, cancellation).await
    }
}

async fn begin(
    beginning: &Startup<'_>,
    container: &mut JobContainer,
    cancellation: &Cancellation,
) -> Result<MarkedLine, DockerError> {
    let Startup {
        image,
        script,
        mark,
        patience,
        trace,
    } = *beginning;
    let options = AttachContainerOptions {
        stream: true,
        stdin: !script.is_empty(),
        stdout: true,
        stderr: true,
        ..AttachContainerOptions::default()
    };
    let engine = container.engine().clone();
    let attaching = engine.call(
        format!("attach to container {}", container.name()),
        engine.api().attach_container(container.id(), Some(options)),
    );
    let attached = unless_stopped(cancellation, attaching).await?;
    let (mut output, mut input) = (attached.output, attached.input);
    let started = container.start(cancellation).await;
    started.map_err(|error| fault::explain(image, error))?;
    // An entry point may redirect either stream to the other.
    let mut lines = [mark, mark].map(|mark| MarkedLine::new(mark.to_owned()));
    let mut kept = Vec::new();
    let mut end = container.end();
    let deadline = tokio::time::sleep(patience);
    tokio::pin!(deadline);
    let mut code = None;
    let feeding = async {
        // A process that ended early stops reading; its exit code is the result.
        let _ = input.write_all(script.as_bytes()).await;
        let _ = input.flush().await;
    };
    tokio::pin!(feeding);
    let mut is_fed = script.is_empty();
    loop {
        let piece = tokio::select! {
            () = &mut feeding, if !is_fed => {
                is_fed = true;
                continue;
            }
            piece = output.next() => piece,
            end = ended(&mut end), if code.is_none() => {
                code = Some(end);
                deadline.as_mut().reset(tokio::time::Instant::now() + LATE);
                continue;
            }
            () = &mut deadline => match code {
                // Output that has arrived counts.
                Some(_) => output.next().now_or_never().flatten(),
                None => return Err(DockerError::Deadline {
                    doing: format!(
                        "wait for the entry point of image {image} to start the command that it \
                         is given"
                    ),
                    after: patience,
                }),
            },
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        let Some(Ok(piece)) = piece else {
            let [out, err] = &mut lines;
            out.finish(|data| trace.write(TraceStream::STDOUT, data));
            err.finish(|data| trace.write(TraceStream::STDERR, data));
            return Err(early(container, image, &kept).await);
        };
        take(&piece, &mut lines, &mut kept, &**trace);
        if let Some(marked) = lines.iter().position(|line| line.found().is_some()) {
            let [out, err] = lines;
            let (line, mut other) = if marked == 0 { (out, err) } else { (err, out) };
            let stream = [TraceStream::STDERR, TraceStream::STDOUT][marked];
            other.finish(|data| trace.write(stream, data));
            container.keep(drain(output, Arc::clone(trace)));
            return Ok(line);
        }
    }
}

/// Writes further output of the entry point and its children to the log.
async fn drain(mut output: Output, trace: Arc<dyn JobTrace>) {
    while let Some(Ok(piece)) = output.next().await {
        let stream = match &piece {
            LogOutput::StdErr { .. } => TraceStream::STDERR,
            _ => TraceStream::STDOUT,
        };
        trace.write(stream, piece.as_ref());
    }
}

fn take(
    piece: &LogOutput,
    [out, err]: &mut [MarkedLine; 2],
    kept: &mut Vec<u8>,
    trace: &dyn JobTrace,
) {
    let mut write = |stream: TraceStream, data: &[u8]| {
        let room = KEPT.saturating_sub(kept.len()).min(data.len());
        kept.extend_from_slice(&data[..room]);
        trace.write(stream, data);
    };
    match piece {
        LogOutput::StdErr { message } => err.pass(message, |data| write(TraceStream::STDERR, data)),
        other => out.pass(other.as_ref(), |data| write(TraceStream::STDOUT, data)),
    }
}

/// Returns why the output ended before the main process was ready.
async fn early(container: &JobContainer, image: &str, output: &[u8]) -> DockerError {
    use crate::job::container::watch::ContainerEnd;
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
