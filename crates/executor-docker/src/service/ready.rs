//! Waits until a service is ready.

use super::ended::Ended;
use super::probe::{Probe, ProbeError, Probes};
use super::running::{PortAccess, Running};
use super::{exec, host_probe, inside_probe, logs};
use crate::engine::Engine;
use bollard::models::HealthStatusEnum;
use executor_core::HumanDuration;
use executor_core::cancellation::{CancelCause, Cancellation};
use futures_util::future::join_all;
use std::time::Duration;

/// The pause between two runs of a command, each of which takes the engine some 100 ms.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a container in its end may report that a script cannot run.
const ENDING: Duration = Duration::from_millis(300);

/// Why a service is not ready.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReady {
    /// It ended.
    #[error("{0}")]
    Ended(Ended),
    /// It took too long.
    #[error("{missing} within {}", HumanDuration(*limit))]
    TooLong { missing: String, limit: Duration },
    /// The engine reports it as unhealthy.
    #[error("the engine reports it as unhealthy")]
    Unhealthy,
    /// A variable is invalid.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The job was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

/// The result of one probe.
enum Answer {
    Ready,
    Unhealthy,
    /// The probe cannot run.
    Unknown,
}

/// Waits until all probes hold; returns `false` when some could not run.
pub(crate) async fn wait(
    engine: &Engine,
    running: &Running,
    probes: &Probes,
    limit: Duration,
    cancellation: &Cancellation,
) -> Result<bool, NotReady> {
    let answers = probes
        .all
        .iter()
        .map(|probe| wait_for_one(engine, running, probe));
    let mut end = running.end.clone();
    tokio::select! {
        // In order: a service that is ready just at the limit is ready.
        biased;
        answers = join_all(answers) => {
            if answers.iter().any(|answer| matches!(answer, Answer::Unhealthy)) {
                return Err(NotReady::Unhealthy);
            }
            Ok(!answers.iter().any(|answer| matches!(answer, Answer::Unknown)))
        }
        ended = ended(&mut end) => Err(NotReady::Ended(ended)),
        cause = cancellation.canceled() => Err(NotReady::Canceled(cause)),
        () = tokio::time::sleep(limit) => Err(NotReady::TooLong {
            missing: missing(&probes.all),
            limit,
        }),
    }
}

/// Waits for the end of a service; never returns when its watcher is gone.
pub(crate) async fn ended(end: &mut tokio::sync::watch::Receiver<Option<Ended>>) -> Ended {
    let ended = end.wait_for(Option::is_some).await;
    match ended.ok().and_then(|ended| ended.clone()) {
        Some(ended) => ended,
        None => std::future::pending().await,
    }
}

async fn wait_for_one(engine: &Engine, running: &Running, probe: &Probe) -> Answer {
    match (probe, running.access) {
        (Probe::AnyPort(ports), PortAccess::Direct(address)) => {
            host_probe::any_port(address, ports).await;
        }
        (Probe::Ports(ports), PortAccess::Direct(address)) => {
            host_probe::all_ports(address, ports).await;
        }
        (Probe::Http { port, path }, PortAccess::Direct(address)) => {
            host_probe::http(address, *port, path).await;
        }
        (Probe::AnyPort(ports), PortAccess::Inside) => {
            return script(engine, running, &inside_probe::wait_for_ports(ports, false)).await;
        }
        (Probe::Ports(ports), PortAccess::Inside) => {
            return script(engine, running, &inside_probe::wait_for_ports(ports, true)).await;
        }
        (Probe::Http { port, path }, PortAccess::Inside) => {
            return script(engine, running, &inside_probe::wait_for_http(*port, path)).await;
        }
        (Probe::Exec(command), _) => {
            while !succeeds(engine, running, &exec::shell(command)).await {
                tokio::time::sleep(PAUSE).await;
            }
        }
        (Probe::Log(text), _) => logs::wait_for(engine, &running.id, text).await,
        (Probe::Health(check), _) => return health(engine, running, &check.command).await,
    }
    Answer::Ready
}

/// Runs a script that ends once the service is ready.
async fn script(engine: &Engine, running: &Running, script: &str) -> Answer {
    let mut refused = false;
    loop {
        match exec::run(engine, &running.id, &exec::shell(script)).await {
            Ok(0) => return Answer::Ready,
            // The container lacks the shell or a program of the script. A container in its end reports the same, so the
            // second report counts.
            Ok(126 | 127) if refused => return Answer::Unknown,
            Ok(126 | 127) => {
                refused = true;
                tokio::time::sleep(ENDING).await;
            }
            // The connection to the engine broke, or the service ends.
            Ok(_) | Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn succeeds(engine: &Engine, running: &Running, command: &[String]) -> bool {
    exec::run(engine, &running.id, command)
        .await
        .is_ok_and(|code| code == 0)
}

async fn health(engine: &Engine, running: &Running, command: &[String]) -> Answer {
    loop {
        let found = engine.api().inspect_container(&running.id, None);
        let found = engine.call("inspect a service", found).await.ok();
        let health = found.and_then(|found| found.state?.health?.status);
        match health {
            Some(HealthStatusEnum::HEALTHY) => return Answer::Ready,
            Some(HealthStatusEnum::UNHEALTHY) => return Answer::Unhealthy,
            _ => {}
        }
        if !command.is_empty() && succeeds(engine, running, command).await {
            return Answer::Ready;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns which conditions did not hold, without commands and texts, which may contain secrets.
fn missing(probes: &[Probe]) -> String {
    let list = |ports: &[u16]| {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        ports.join(", ")
    };
    let missing = probes.iter().map(|probe| match probe {
        Probe::AnyPort(ports) => format!("none of its ports ({}) was open", list(ports)),
        Probe::Ports(ports) => format!("its ports ({}) were not all open", list(ports)),
        Probe::Http { port, path } => {
            format!("its port {port} did not answer a request for {path} with 2xx or 3xx")
        }
        Probe::Exec(_) => "the command of RUNWRIGHT_READY_EXEC did not succeed".to_owned(),
        Probe::Log(_) => "the text of RUNWRIGHT_READY_LOG was not in its log".to_owned(),
        Probe::Health(_) => "its health check did not pass".to_owned(),
    });
    missing.collect::<Vec<_>>().join(", or ")
}
