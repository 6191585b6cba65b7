//! Connections to the engine.

use crate::support::endpoints::{Certificates, Port, Sshd, check_connection};
use crate::support::unprivileged::drop_privileges;
use crate::support::{address, engine};
use executor_core::{BuildError, FailureReason};
use executor_docker::engine::EngineOptions;
use executor_docker::{DockerError, DockerHost, Engine};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn host(address: &str) -> DockerHost {
    DockerHost::parse(address).unwrap()
}

#[tokio::test]
async fn the_engine_says_who_it_is() {
    let engine = engine().await;
    assert_eq!(engine.is_local(), address().starts_with("unix://"));
    assert_eq!(engine.version().os, "linux");
    let info = engine.info().await.unwrap();
    assert!(info.id.is_some_and(|id| !id.is_empty()));
}

#[tokio::test]
async fn it_is_reached_over_a_port() {
    let port = Port::plain();
    let host = host(&format!("tcp://127.0.0.1:{}", port.number));
    let engine = check_connection(&host, EngineOptions::default()).await;
    assert!(!engine.is_local());
}

#[tokio::test]
async fn it_is_reached_over_tls_with_a_certificate() {
    let certificates = Certificates::new();
    let port = Port::tls(&certificates);
    let bare = host(&format!("tcp://127.0.0.1:{}", port.number));
    for verify in [true, false] {
        let host = bare.clone().with_tls(certificates.files(verify));
        check_connection(&host, EngineOptions::default()).await;
    }
    // An authority that did not sign the server's certificate.
    let others = Certificates::new();
    let error = Engine::connect(&bare.clone().with_tls(others.files(true)))
        .await
        .unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("certificate") && words.contains("tls_verify"),
        "{words}"
    );
    // A certificate without its key.
    std::fs::remove_file(certificates.path().join("key.pem")).unwrap();
    let error = Engine::connect(&bare.with_tls(certificates.files(true)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("key.pem is missing"), "{error}");
}

#[tokio::test]
async fn it_is_reached_through_ssh() {
    let sshd = Sshd::start().await;
    let (host, options) = sshd.engine("known_hosts");
    let engine = check_connection(&host, options).await;
    assert!(!engine.is_local());
    // An unknown host is refused.
    let (host, options) = sshd.engine("nobody");
    let error = Engine::connect_with(&host, options).await.unwrap_err();
    assert!(
        error.to_string().contains("Host key verification failed"),
        "{error}"
    );
}

#[tokio::test]
async fn a_silent_engine_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let mut options = EngineOptions::default();
    options.connect = Duration::from_secs(1);
    let error = Engine::connect_with(&host(&address), options)
        .await
        .unwrap_err();
    assert!(matches!(error, DockerError::Deadline { .. }), "{error}");
    assert!(error.to_string().contains(&address), "{error}");
    assert!(error.is_temporary());
}

/// Connects to a server that sends this response.
async fn connect_to_server_with(answer: &str) -> Result<Engine, DockerError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let served = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        assert!(client.read(&mut head).await.unwrap() > 0);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        client.write_all((head + answer).as_bytes()).await.unwrap();
    };
    let host = host(&address);
    let (connected, ()) = tokio::join!(Engine::connect(&host), served);
    connected
}

#[tokio::test]
async fn an_engine_that_creates_mount_sources_gets_no_mounts() {
    let podman = r#"{"Version":"4.3.1","ApiVersion":"1.41","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}"#;
    let behind_a_port = connect_to_server_with(podman).await.unwrap();
    assert!(behind_a_port.may_make_sources(), "{behind_a_port:?}");
    let docker = connect_to_server_with(r#"{"Version":"28.5.1","ApiVersion":"1.41"}"#).await;
    assert!(!docker.unwrap().may_make_sources());
}

#[tokio::test]
async fn an_old_engine_or_another_server_is_reported() {
    for (answer, part) in [
        (
            r#"{"ApiVersion":"1.40","MinAPIVersion":"1.12"}"#,
            "update it to Docker 20.10",
        ),
        (r#"{"hello":"world"}"#, "not a container engine"),
        ("hello", "JSON"),
    ] {
        let connected = connect_to_server_with(answer).await;
        let error = connected.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_missing_engine_is_a_system_failure() {
    let error = Engine::connect(&host("unix:///nonexistent/d.sock"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the socket does not exist; start Docker"),
        "{error}"
    );

    let port = Port::plain();
    let engine = Engine::connect(&host(&format!("tcp://127.0.0.1:{}", port.number)))
        .await
        .unwrap();
    drop(port);
    let error = BuildError::from(engine.info().await.unwrap_err());
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
    assert!(error.is_temporary(), "{}", error.chain());
}

/// Connects in a separate thread without privileges, because root may open every socket.
fn connect_unprivileged(socket: &Path) -> Result<Engine, DockerError> {
    let host = host(&format!("unix://{}", socket.display()));
    let connecting = std::thread::spawn(move || {
        drop_privileges();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(Engine::connect(&host))
    });
    connecting.join().unwrap()
}

#[test]
fn a_socket_without_permission_is_reported_with_help() {
    let directory = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(directory.path(), 0o755);
    let socket = directory.path().join("docker.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    mode(&socket, 0o000);
    let error = connect_unprivileged(&socket).unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("docker.sock: permission denied; add the user to the group"),
        "{words}"
    );
    let error = BuildError::from(error);
    assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
}
