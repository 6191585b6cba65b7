//! Noticing that a container is there no more.

use crate::engine::Engine;
use crate::error::DockerError;
use bollard::errors::Error;
use bollard::models::ContainerState;
use bollard::query_parameters::WaitContainerOptions;
use futures_util::StreamExt;
use std::time::Duration;
use tokio::sync::watch;

/// How long an engine may be away before what it held counts as lost.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long is waited between two questions.
const PAUSE: Duration = Duration::from_millis(250);

/// How the main process of a container came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContainerEnd {
    /// It ended, or was killed.
    Ended {
        /// Its exit code.
        code: i64,
        /// Whether the kernel killed it for lack of memory.
        oom_killed: bool,
        /// What the engine says about it.
        error: String,
    },
    /// The container was removed.
    Removed,
    /// The engine answers no more.
    EngineGone {
        /// The last error.
        cause: String,
    },
}

impl ContainerEnd {
    /// Returns the error of whoever needed the container.
    pub(crate) fn error(&self, container: &str) -> DockerError {
        let cause = match self {
            Self::Ended {
                oom_killed: true, ..
            } => "its main process was killed because the memory ran out".to_owned(),
            Self::Ended { code, error, .. } if error.is_empty() => {
                format!("its main process ended with exit code {code}")
            }
            Self::Ended { code, error, .. } => {
                format!("its main process ended with exit code {code}: {error}")
            }
            Self::Removed => "somebody removed it".to_owned(),
            Self::EngineGone { cause } => format!("the container engine is gone: {cause}"),
        };
        DockerError::ContainerLost {
            container: container.to_owned(),
            cause,
        }
    }
}

/// Waits for the end of the container and tells it.
pub(crate) async fn watch(
    engine: Engine,
    container: String,
    told: watch::Sender<Option<ContainerEnd>>,
) {
    let end = wait(&engine, &container).await;
    // Nobody may listen any more.
    let _ = told.send(Some(end));
}

async fn wait(engine: &Engine, container: &str) -> ContainerEnd {
    loop {
        let options = WaitContainerOptions {
            condition: "not-running".to_owned(),
        };
        let answer = {
            let stream = engine.api().wait_container(container, Some(options));
            tokio::pin!(stream);
            stream.next().await
        };
        let _ended: bool = matches!(
            answer,
            Some(Ok(_) | Err(Error::DockerContainerWaitError { .. }))
        );
        if let Some(end) = look(engine, container).await {
            return end;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks how the container is; `None` when it runs.
pub(crate) async fn look(engine: &Engine, container: &str) -> Option<ContainerEnd> {
    let begun = tokio::time::Instant::now();
    loop {
        let asked = engine.api().inspect_container(container, None);
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        let cause = match asked {
            Ok(Ok(found)) => return found.state.and_then(|state| end_of(&state)),
            Ok(Err(Error::DockerResponseServerError {
                status_code: 404, ..
            })) => return Some(ContainerEnd::Removed),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        if begun.elapsed() > PATIENCE {
            return Some(ContainerEnd::EngineGone { cause });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn end_of(state: &ContainerState) -> Option<ContainerEnd> {
    if state.running == Some(true) {
        return None;
    }
    Some(ContainerEnd::Ended {
        code: state.exit_code.unwrap_or_default(),
        oom_killed: state.oom_killed == Some(true),
        error: state.error.clone().unwrap_or_default(),
    })
}
