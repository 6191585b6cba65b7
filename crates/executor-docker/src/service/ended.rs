//! Waits for the end of a service's container.

use crate::engine::Engine;
use bollard::query_parameters::WaitContainerOptions;
use futures_util::StreamExt;
use std::fmt;
use std::time::Duration;

/// The pause before the next request after a broken one.
const PAUSE: Duration = Duration::from_millis(500);

/// How a service ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its main process ended.
    Exited { code: i64, out_of_memory: bool },
    /// Its container was removed.
    Removed,
}

impl Ended {
    /// Returns whether the service ended successfully.
    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0, .. })
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited {
                out_of_memory: true,
                ..
            } => f.write_str("it was killed because its memory was used up"),
            Self::Exited { code, .. } => write!(f, "it ended with exit code {code}"),
            Self::Removed => f.write_str("its container was removed"),
        }
    }
}

/// Waits until the container is not running, however long the engine is away meanwhile.
pub(crate) async fn ended(engine: &Engine, id: &str) -> Ended {
    loop {
        {
            let options = WaitContainerOptions {
                condition: "not-running".to_owned(),
            };
            let mut answers = std::pin::pin!(engine.api().wait_container(id, Some(options)));
            answers.next().await;
        }
        let found = engine.api().inspect_container(id, None);
        match engine.call("inspect a service", found).await {
            Ok(found) => {
                let state = found.state.unwrap_or_default();
                if state.running != Some(true) {
                    return Ended::Exited {
                        code: state.exit_code.unwrap_or_default(),
                        out_of_memory: state.oom_killed == Some(true),
                    };
                }
            }
            Err(error) if error.is_not_found() => return Ended::Removed,
            // The job's container detects an engine that is gone.
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}
