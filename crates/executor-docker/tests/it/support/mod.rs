//! What the tests share.

pub(crate) mod nobody;
pub(crate) mod proxy;
pub(crate) mod registry;
pub(crate) mod scratch;
pub(crate) mod way;

use executor_docker::{DockerHost, Engine};

/// Returns the engine that tests run on.
pub(crate) async fn engine() -> Engine {
    let host = DockerHost::parse(&address()).expect("RUNWRIGHT_TEST_DOCKER is an address");
    Engine::connect(&host)
        .await
        .expect("the engine of the tests answers")
}

/// Returns where it is.
pub(crate) fn address() -> String {
    let address = std::env::var("RUNWRIGHT_TEST_DOCKER");
    address
        .expect("RUNWRIGHT_TEST_DOCKER says where Docker is: run the tests by `cargo xtask test`")
}

pub(crate) mod runner;
