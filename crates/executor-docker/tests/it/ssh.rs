//! Connections over ssh share one login.

use crate::support::endpoints::{Sshd, check_connection};
use executor_docker::Engine;
use executor_docker::engine::EngineOptions;
use futures_util::future::join_all;
use std::time::Duration;
use tokio::net::TcpStream;

/// Makes this many calls concurrently and returns the error of each that fails.
async fn failed(engine: &Engine, calls: usize) -> Vec<String> {
    let calls = (0..calls).map(|_| engine.info());
    let failed = join_all(calls).await.into_iter().filter_map(Result::err);
    failed.map(|error| error.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_at_once_need_one_login() {
    // An sshd with default limits rejects most of this many concurrent connections.
    let sshd = Sshd::start().await;
    let (host, options) = sshd.engine("known_hosts");
    let engine = Engine::connect_with(&host, options).await.unwrap();
    assert_eq!(failed(&engine, 60).await, Vec::<String>::new());
    assert_eq!(sshd.logins(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_forwarding_connections_share_the_login() {
    let sshd = Sshd::with("AllowStreamLocalForwarding no\n").await;
    let (host, options) = sshd.engine("known_hosts");
    let engine = check_connection(&host, options).await;
    assert_eq!(sshd.logins(), 1);
    // One login carries ten connections; further ones log in themselves.
    assert_eq!(failed(&engine, 14).await, Vec::<String>::new());
    assert!(sshd.logins() < 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_login_of_the_user_is_respected() {
    let sshd = Sshd::start().await;
    let (host, mut options) = sshd.engine("known_hosts");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own");
    options
        .ssh
        .extend(["-o".to_owned(), format!("ControlPath={}", path.display())]);
    check_connection(&host, options).await;
    // The user has not logged in, so each connection logs in itself.
    assert!(sshd.logins() > 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_login_is_renewed() {
    let sshd = Sshd::start().await;
    let (host, options) = sshd.engine("known_hosts");
    let engine = Engine::connect_with(&host, options).await.unwrap();
    sshd.end_sessions();
    // Calls that are under way when the login ends fail.
    let again = async { while engine.info().await.is_err() {} };
    let again = tokio::time::timeout(Duration::from_mins(1), again).await;
    again.expect("it gets in again");
    assert_eq!(sshd.logins(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_login_is_retried() {
    let sshd = Sshd::with("MaxStartups 1:100:1\n").await;
    let (host, options) = sshd.engine("known_hosts");
    // Stays silent and so occupies the only slot.
    let other = TcpStream::connect(("127.0.0.1", sshd.port)).await.unwrap();
    let leaves = async {
        sshd.wait_for_log("MaxStartups").await;
        drop(other);
    };
    let options = EngineOptions::clone(&options);
    let (connected, ()) = tokio::join!(Engine::connect_with(&host, options), leaves);
    connected.unwrap();
}
