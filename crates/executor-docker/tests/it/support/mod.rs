//! Shared helpers of the tests.

pub(crate) mod endpoints;
pub(crate) mod proxy;
pub(crate) mod registry;
pub(crate) mod scratch;
pub(crate) mod test_transport;
pub(crate) mod unprivileged;

use executor_docker::engine::{EngineOptions, TlsFiles};
use executor_docker::{DockerHost, Engine};
use std::path::PathBuf;
use std::time::Duration;

/// The limit for an event to be noticed: longer than the sum of our deadlines on a busy machine, and shorter than the
/// scripts that would otherwise keep running.
pub(crate) const NOTICE: Duration = Duration::from_secs(200);

/// Waits for an event, up to the limit.
pub(crate) async fn in_time<T>(what: impl Future<Output = T>) -> T {
    let noticed = tokio::time::timeout(NOTICE, what).await;
    noticed.expect("it is noticed")
}

/// Returns the engine that tests run on.
pub(crate) async fn engine() -> Engine {
    let host = DockerHost::parse(&address()).expect("RUNWRIGHT_TEST_DOCKER is an address");
    let host = match certificates() {
        Some(directory) => host.with_tls(TlsFiles {
            directory: Some(directory),
            verify: true,
        }),
        None => host,
    };
    Engine::connect_with(&host, patient_options())
        .await
        .expect("the engine of the tests answers")
}

/// Returns options for a busy machine.
pub(crate) fn patient_options() -> EngineOptions {
    let mut options = EngineOptions::default();
    options.connect = Duration::from_mins(1);
    options
}

/// Returns the address of the engine.
pub(crate) fn address() -> String {
    let address = std::env::var("RUNWRIGHT_TEST_DOCKER");
    address
        .expect("RUNWRIGHT_TEST_DOCKER says where Docker is: run the tests by `cargo xtask test`")
}

/// Returns the directory with the certificates of both sides, if the tests use TLS.
pub(crate) fn certificates() -> Option<PathBuf> {
    let is_port = address().starts_with("tcp://");
    let directory = is_port.then(|| std::env::var_os("DOCKER_CERT_PATH"));
    directory.flatten().map(PathBuf::from)
}

pub(crate) mod runner;
