//! Watches a container for its end.

use crate::engine::Engine;
use crate::error::DockerError;
use bollard::errors::Error;
use bollard::models::{ContainerState, ContainerStateStatusEnum as Status};
use bollard::query_parameters::{EventsOptions, WaitContainerOptions};
use executor_core::HumanDuration;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

/// How long an engine may be away before its containers count as lost: a restarted one is back sooner, and may have kept
/// them.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long an engine may not answer before it counts as gone.
const SILENCE: Duration = Duration::from_secs(25);
/// How often the container is inspected without an event: a connection can die silently.
const CHECK: Duration = Duration::from_secs(5);
/// The pause between two requests.
const PAUSE: Duration = Duration::from_millis(250);

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContainerEnd {
    /// The main process ended or was killed.
    Ended {
        /// Its exit code.
        code: i64,
        /// Whether the kernel killed it for lack of memory.
        oom_killed: bool,
        /// The message of the engine.
        error: String,
    },
    /// The container was removed.
    Removed,
    /// The container ended, and was started again.
    Restarted,
    /// The engine does not answer.
    EngineGone {
        /// The last error.
        cause: String,
    },
}

impl ContainerEnd {
    /// Returns whether the kernel killed the main process for lack of memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            Self::Ended {
                code: 137,
                oom_killed: true,
                ..
            }
        )
    }

    /// Returns the error for the user of the container.
    pub(crate) fn error(&self, container: &str) -> DockerError {
        let cause = match self {
            Self::Ended {
                code,
                oom_killed: true,
                ..
            } => {
                format!("its main process was killed because the memory ran out (exit code {code})")
            }
            Self::Ended {
                code: 137, error, ..
            } if error.is_empty() => "its main process was killed (exit code 137)".to_owned(),
            Self::Ended { code, error, .. } if error.is_empty() => {
                format!("its main process ended with exit code {code}")
            }
            Self::Ended { code, error, .. } => {
                format!("its main process ended with exit code {code}: {error}")
            }
            Self::Removed => "it was removed from outside".to_owned(),
            Self::Restarted => "it was restarted from outside".to_owned(),
            Self::EngineGone { cause } => format!("the container engine is gone: {cause}"),
        };
        DockerError::ContainerLost {
            container: container.to_owned(),
            cause,
        }
    }
}

/// Waits for the end of the container and sends it.
pub(crate) async fn watch(
    engine: Engine,
    container: String,
    sender: watch::Sender<Option<ContainerEnd>>,
) {
    let end = end_of_run(&engine, &container).await;
    // The receivers may be gone.
    let _ = sender.send(Some(end));
}

/// Waits until the container does not run; returns its end. A paused container has not ended.
pub(crate) async fn end_of_run(engine: &Engine, container: &str) -> ContainerEnd {
    loop {
        let stopped = stopped(engine, container);
        tokio::pin!(stopped);
        let has_ended = loop {
            tokio::select! {
                has_ended = &mut stopped => break has_ended,
                () = sleep(CHECK) => {}
            }
            if let Some(end) = current_end(engine, container).await {
                return end;
            }
        };
        match current_end(engine, container).await {
            Some(end) => return end,
            None if has_ended && !is_paused(engine, container).await => {
                return ContainerEnd::Restarted;
            }
            None => sleep(PAUSE).await,
        }
    }
}

/// Returns when the container has stopped, or the engine ends its answer; whether it has stopped.
async fn stopped(engine: &Engine, container: &str) -> bool {
    let options = WaitContainerOptions {
        condition: "not-running".to_owned(),
    };
    let answer = engine.api().wait_container(container, Some(options));
    tokio::pin!(answer);
    // The client returns an exit code other than 0 as an error.
    matches!(
        answer.next().await,
        Some(Ok(_) | Err(Error::DockerContainerWaitError { .. }))
    )
}

/// Returns when the engine publishes such an event of the container, from now on or after `since`; else never.
pub(crate) async fn wait_for_event(
    engine: &Engine,
    container: &str,
    event: &str,
    since: Option<SystemTime>,
) {
    let since = since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
    let filters = HashMap::from([
        ("container".to_owned(), vec![container.to_owned()]),
        ("event".to_owned(), vec![event.to_owned()]),
    ]);
    let options = EventsOptions {
        filters: Some(filters),
        since: since.map(|it| format!("{}.{:09}", it.as_secs(), it.subsec_nanos())),
        ..EventsOptions::default()
    };
    let events = engine.api().events(Some(options));
    tokio::pin!(events);
    if !matches!(events.next().await, Some(Ok(_))) {
        // Other requests notice the end too.
        std::future::pending::<()>().await;
    }
}

/// Returns when the last process of the container is dead; never when the engine does not report it.
///
/// The engine publishes this event at once. Every other answer, also that to a kill, comes after the engine has taken
/// apart network and file system, which takes as long again.
pub(crate) async fn wait_for_death(engine: Engine, container: String) {
    // The container may be removed before the engine sees this request for events.
    let since = Some(SystemTime::now());
    wait_for_event(&engine, &container, "die", since).await;
}

/// Returns whether the container is paused.
pub(crate) async fn is_paused(engine: &Engine, container: &str) -> bool {
    let found = engine.api().inspect_container(container, None).await;
    let state = found.ok().and_then(|found| found.state);
    state.is_some_and(|state| state.paused == Some(true))
}

/// Waits until the container is not paused.
pub(crate) async fn wait_until_unpaused(engine: &Engine, container: &str) {
    while is_paused(engine, container).await {
        tokio::select! {
            () = wait_for_event(engine, container, "unpause", None) => {}
            () = sleep(CHECK) => {}
        }
    }
}

/// Unpauses the container: its processes cannot stop before. One that is not paused is not an error.
pub(crate) async fn unpause(engine: &Engine, container: &str) {
    let unpausing = engine.call(
        "unpause the container",
        engine.api().unpause_container(container),
    );
    if let Err(error) = unpausing.await {
        tracing::debug!(error = %executor_core::chain(&error), "The container is not unpaused.");
    }
}

/// Inspects the container; `None` while it runs.
pub(crate) async fn current_end(engine: &Engine, container: &str) -> Option<ContainerEnd> {
    let ask = || async move {
        match engine.api().inspect_container(container, None).await {
            Ok(found) => Ok(found.state.and_then(|state| end_of(&state))),
            Err(Error::DockerResponseServerError {
                status_code: 404, ..
            }) => Ok(Some(ContainerEnd::Removed)),
            Err(error) => Err(executor_core::chain(&error)),
        }
    };
    ask_until_gone(ask).await
}

/// Asks until there is an answer or the engine counts as gone. All requests share one deadline.
async fn ask_until_gone<F>(ask: impl Fn() -> F) -> Option<ContainerEnd>
where
    F: Future<Output = Result<Option<ContainerEnd>, String>>,
{
    let begun = Instant::now();
    loop {
        let cause = match timeout_at(begun + SILENCE, ask()).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(cause)) => cause,
            Err(_) => format!("it did not answer for {}", HumanDuration(SILENCE)),
        };
        if begun.elapsed() > PATIENCE {
            return Some(ContainerEnd::EngineGone { cause });
        }
        sleep(PAUSE).await;
    }
}

fn end_of(state: &ContainerState) -> Option<ContainerEnd> {
    // For Podman, a paused container does not run.
    if state.running == Some(true) || state.paused == Some(true) {
        return None;
    }
    // The engine kills a container before it removes it.
    if matches!(state.status, Some(Status::REMOVING | Status::DEAD)) {
        return Some(ContainerEnd::Removed);
    }
    Some(ContainerEnd::Ended {
        code: state.exit_code.unwrap_or_default(),
        oom_killed: state.oom_killed == Some(true),
        error: state.error.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paused_container_has_not_ended() {
        let state = |running, paused| ContainerState {
            running: Some(running),
            paused: Some(paused),
            exit_code: Some(3),
            ..ContainerState::default()
        };
        assert!(end_of(&state(true, true)).is_none());
        assert!(end_of(&state(false, true)).is_none());
        let ended = end_of(&state(false, false));
        assert!(matches!(ended, Some(ContainerEnd::Ended { code: 3, .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_engine_has_one_deadline() {
        let begun = Instant::now();
        let ask = || async {
            if begun.elapsed() < PATIENCE {
                sleep(Duration::from_secs(14)).await;
                return Err("refused".to_owned());
            }
            std::future::pending().await
        };
        let end = ask_until_gone(ask).await;
        let cause = "it did not answer for 25s".to_owned();
        assert_eq!(end, Some(ContainerEnd::EngineGone { cause }));
        assert_eq!(begun.elapsed().as_secs(), SILENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_refuses_is_asked_until_it_counts_as_gone() {
        let begun = Instant::now();
        let end = ask_until_gone(|| async { Err("refused".to_owned()) }).await;
        let cause = "refused".to_owned();
        assert_eq!(end, Some(ContainerEnd::EngineGone { cause }));
        assert!(begun.elapsed() > PATIENCE && begun.elapsed() < SILENCE);
        let begun = Instant::now();
        let back = ask_until_gone(|| async {
            if begun.elapsed() < PATIENCE {
                return Err("refused".to_owned());
            }
            Ok(None)
        });
        assert_eq!(back.await, None);
    }
}
