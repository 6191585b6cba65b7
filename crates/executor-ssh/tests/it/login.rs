//! Who is trusted and who is let in.

use crate::support::fault_proxy::FaultProxy;
use crate::support::run::{
    config, config_through, create, open, options, prepare_options, runner_config,
};
use crate::support::sshd::{PASSWORD, Sshd, free_port, keygen};
use executor_core::prelude::*;
use executor_core::{AcquireError, Endpoint, FailureReason};
use executor_ssh::{EngineChoice, HostConfig, SshConfig, provider};
use executor_testkit::RecordingTrace;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

fn of(server: &Sshd) -> SshConfig {
    config(server, server.port, EngineChoice::Shell)
}

/// Prepares a job that must fail, and checks parts of its error.
async fn refused(config: SshConfig, reason: FailureReason, parts: &[&str]) {
    let error = open(config).await.err().expect("the login must fail");
    assert_eq!(error.failure_reason(), reason, "{}", error.chain());
    for part in parts {
        assert!(error.chain().contains(part), "{part}: {}", error.chain());
    }
}

async fn accepted(config: SshConfig) {
    let mut opened = open(config).await.unwrap();
    opened.run("echo here").await.unwrap();
    assert_eq!(opened.output(), "here\n");
    opened.executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_passwords_and_agents_are_accepted() {
    // R-EXEC-100
    let server = Sshd::with_password();
    accepted(of(&server)).await;
    let mut by_password = of(&server);
    by_password.identity_file = None;
    by_password.password = Some(PASSWORD.to_owned());
    accepted(by_password.clone()).await;
    by_password.password = Some("wrong".to_owned());
    let reason = FailureReason::RunnerConfigurationError;
    refused(
        by_password,
        reason,
        &["the password was refused", "as root"],
    )
    .await;

    let socket = server.path("agent");
    #[expect(clippy::disallowed_methods, reason = "the user's SSH agent")]
    let mut agent = std::process::Command::new("ssh-agent")
        .args(["-D", "-a"])
        .arg(&socket)
        .spawn()
        .unwrap();
    while !socket.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let log_in = async |identity: Option<PathBuf>| {
        let mut settings = of(&server);
        settings.identity_file = identity;
        let mut all = options(settings);
        all.auth_socket = Some(socket.clone());
        let mut executor = create(&provider(all)).await;
        let options = prepare_options(&RecordingTrace::new());
        let prepared = executor.prepare(options, &Cancellation::new()).await;
        executor.cleanup().await.unwrap();
        prepared.map_err(|error| error.chain())
    };
    let locked = server.path("locked");
    fs::copy(server.key(), &locked).unwrap();
    keygen(&["-q", "-p", "-P", "", "-N", "secret", "-f"], &locked);
    let error = log_in(Some(locked.clone())).await.unwrap_err();
    assert!(error.contains("agent does not have it"), "{error}");
    #[expect(clippy::disallowed_methods, reason = "fills the user's SSH agent")]
    let added = std::process::Command::new("ssh-add")
        .arg(server.key())
        .env("SSH_AUTH_SOCK", &socket)
        .status();
    assert!(added.unwrap().success());
    // The agent has the key without its passphrase.
    for identity in [None, Some(locked), Some(server.path("key.pub"))] {
        log_in(identity).await.unwrap();
    }
    agent.kill().unwrap();
    agent.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_refused_with_their_names() {
    let server = Sshd::start();
    let reason = FailureReason::RunnerConfigurationError;
    let mut wrong = of(&server);
    let other = server.path("other");
    keygen(&["-q", "-t", "ed25519", "-N", "", "-f"], &other);
    wrong.identity_file = Some(other.clone());
    refused(
        wrong.clone(),
        reason,
        &["other was refused", "takes publickey"],
    )
    .await;
    let locked = server.path("locked");
    keygen(&["-q", "-t", "ed25519", "-N", "secret", "-f"], &locked);
    wrong.identity_file = Some(locked);
    refused(wrong.clone(), reason, &["passphrase", "SSH agent"]).await;
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&other, open).unwrap();
    wrong.identity_file = Some(other);
    refused(wrong.clone(), reason, &["others may read it", "chmod 600"]).await;
    wrong.identity_file = Some(server.path("missing"));
    let parts = ["identity-file", "missing", "No such file"];
    refused(wrong.clone(), reason, &parts).await;
    wrong.identity_file = None;
    refused(wrong.clone(), reason, &["no key and no password to try"]).await;
    let mut all = options(wrong);
    all.auth_socket = Some(server.path("gone"));
    let mut executor = create(&provider(all)).await;
    let options = prepare_options(&RecordingTrace::new());
    let prepared = executor.prepare(options, &Cancellation::new()).await;
    let error = prepared.unwrap_err().chain();
    assert!(error.contains("gone (SSH_AUTH_SOCK): No such"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn start_file_that_ends_the_shell_is_named() {
    let server = Sshd::start();
    fs::write(server.home().join(".bashrc"), "exit 3\n").unwrap();
    let reason = FailureReason::RunnerSystemFailure;
    let parts = ["ended with 3 before sh started", "~/.bashrc"];
    refused(of(&server), reason, &parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn host_that_permits_few_attempts_is_a_refused_login() {
    let server = Sshd::with("MaxAuthTries 1\nPasswordAuthentication yes\n");
    let mut settings = of(&server);
    let key = server.path("first");
    keygen(&["-q", "-t", "ed25519", "-N", "", "-f"], &key);
    settings.identity_file = Some(key);
    settings.password = Some("wrong".to_owned());
    let reason = FailureReason::RunnerConfigurationError;
    let parts = ["closed the connection", "first", "MaxAuthTries"];
    refused(settings, reason, &parts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn login_that_the_network_ends_is_tried_again() {
    let server = Sshd::with("MaxStartups 100\n");
    let proxy = FaultProxy::start(server.port);
    let wrong = server.path("wrong");
    keygen(&["-q", "-t", "ed25519", "-N", "", "-f"], &wrong);
    let file = server.path("client");
    let (wrong, right) = (wrong.display(), server.key());
    let text = format!("IdentityFile {wrong}\nIdentityFile {}\n", right.display());
    fs::write(&file, text).unwrap();
    let mut settings = config(&server, proxy.port, EngineChoice::Shell);
    settings.identity_file = None;
    settings.config_file = Some(file);
    let mut all = options(settings);
    all.auth_socket = Some(server.path("no-agent"));
    // Its answers about the keys begin after some 2,000 bytes.
    for step in 10..=40 {
        proxy.cut_after(step * 80);
        let mut executor = create(&provider(all.clone())).await;
        let options = prepare_options(&RecordingTrace::new());
        let prepared = executor.prepare(options, &Cancellation::new()).await;
        if let Err(error) = prepared {
            // The last cuts come after the login.
            assert!(error.chain().contains("broke"), "{step}: {}", error.chain());
        }
        executor.cleanup().await.unwrap();
    }
    assert!(proxy.cuts() > 25, "{} cuts", proxy.cuts());
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_ssh_agent_is_given_up() {
    let server = Sshd::start();
    let socket = server.path("agent");
    let silent = UnixListener::bind(&socket).unwrap();
    let mut settings = of(&server);
    settings.identity_file = None;
    settings.connect_timeout = Some(5);
    let mut all = options(settings);
    all.auth_socket = Some(socket);
    let mut executor = create(&provider(all)).await;
    let options = prepare_options(&RecordingTrace::new());
    let prepared = executor.prepare(options, &Cancellation::new()).await;
    let error = prepared.unwrap_err().chain();
    assert!(
        error.contains("SSH agent did not answer within 5 s"),
        "{error}"
    );
    // Nothing waits for it any more.
    let (mut asked, _) = silent.accept().unwrap();
    asked
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    asked.read_to_end(&mut Vec::new()).unwrap();
    executor.cleanup().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_unknown_and_revoked_host_keys_are_refused() {
    // R-EXEC-100
    let server = Sshd::start();
    let reason = FailureReason::RunnerConfigurationError;
    let settings = of(&server);
    let known = settings.known_hosts_file.clone().unwrap();
    let line = server.known(server.port);
    let other = server.path("other");
    keygen(&["-q", "-t", "ed25519", "-N", "", "-f"], &other);
    let other = fs::read_to_string(server.path("other.pub")).unwrap();
    let name = line.split(' ').next().unwrap().to_owned();

    fs::write(&known, format!("{name} {other}")).unwrap();
    let parts = [
        "has changed",
        "it sent ssh-ed25519 SHA256:",
        "known is ssh-ed25519 SHA256:",
    ];
    refused(settings.clone(), reason, &parts).await;
    fs::write(
        &known,
        format!("@revoked * {}", line.split_once(' ').unwrap().1),
    )
    .unwrap();
    refused(settings.clone(), reason, &["is revoked"]).await;
    fs::write(&known, "").unwrap();
    refused(
        settings.clone(),
        reason,
        &["is not known", "allow new keys"],
    )
    .await;
    let mut accepting = settings.clone();
    accepting.accept_new_host_keys = true;
    accepted(accepting).await;
    assert!(fs::read_to_string(&known).unwrap().starts_with(&name));
    // The names of `ssh-keygen -H` are hashed.
    keygen(&["-q", "-H", "-f"], &known);
    assert!(fs::read_to_string(&known).unwrap().starts_with("|1|"));
    accepted(settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_do_not_answer_are_given_up() {
    let server = Sshd::start();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut settings = config(
        &server,
        silent.local_addr().unwrap().port(),
        EngineChoice::Auto,
    );
    settings.connect_timeout = Some(1);
    let reason = FailureReason::RunnerSystemFailure;
    refused(settings.clone(), reason, &["did not answer within 1 s"]).await;
    settings.port = Some(free_port());
    refused(
        settings.clone(),
        reason,
        &["connect to 127.0.0.1", "refused"],
    )
    .await;
    settings.host = Some("no-such-host.invalid".to_owned());
    refused(settings, reason, &["connect to no-such-host.invalid"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_moves_from_a_dead_host_to_one_with_room() {
    // R-EXEC-100
    let server = Sshd::start();
    let mut settings = of(&server);
    settings.connect_timeout = Some(5);
    settings.capacity = Some(1);
    let at = |port| HostConfig {
        port: Some(port),
        ..HostConfig::default()
    };
    settings.hosts = vec![at(free_port()), at(server.port)];
    let provider = provider(options(settings));
    let acquire = || async {
        let never = Cancellation::new();
        let acquired = provider.acquire(&runner_config(), &never).await;
        (acquired.unwrap(), never)
    };
    let (data, never) = acquire().await;
    let mut executor = provider.create(&data).unwrap();
    let prepared = executor.prepare(prepare_options(&RecordingTrace::new()), &never);
    let error = prepared.await.unwrap_err();
    assert!(error.is_temporary(), "{}", error.chain());
    executor.cleanup().await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let prepared = executor.prepare(prepare_options(&RecordingTrace::new()), &never);
    prepared.await.unwrap();
    executor.cleanup().await.unwrap();

    // The place on the dead host is free; a job there has no better one.
    let (other, _) = acquire().await;
    let mut executor = provider.create(&other).unwrap();
    let prepared = executor.prepare(prepare_options(&RecordingTrace::new()), &never);
    let error = prepared.await.unwrap_err();
    assert!(!error.is_temporary(), "{}", error.chain());
    let full = provider.acquire(&runner_config(), &never).await;
    assert!(matches!(full, Err(AcquireError::NoFreeExecutor)));
    provider.release(&runner_config(), data).await;
    provider.release(&runner_config(), other).await;
    let taken = [acquire().await, acquire().await];
    let full = provider.acquire(&runner_config(), &never).await;
    assert!(matches!(full, Err(AcquireError::NoFreeExecutor)));
    for (data, _) in taken {
        provider.release(&runner_config(), data).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_configuration_and_jumps_are_used() {
    let server = Sshd::start();
    let gate = Sshd::start();
    let settings = config_through(&server, &gate, EngineChoice::Shell);
    let mut opened = open(settings).await.unwrap();
    opened.run("echo there").await.unwrap();
    assert_eq!(opened.output(), "there\n");
    opened.executor.cleanup().await.unwrap();
    let log = String::from_utf8(opened.trace.all()).unwrap();
    assert!(log.contains("ProxyCommand in"), "{log}");
    assert!(gate.log().contains("Accepted publickey"), "{}", gate.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_of_a_layer_takes_the_place_of_the_settings() {
    // R-EXEC-71
    let server = Sshd::start();
    let mut settings = of(&server);
    let machine = Endpoint::Ssh {
        host: "127.0.0.1".to_owned(),
        port: server.port,
        user: Some("root".to_owned()),
        identity_file: settings.identity_file.take(),
        known_hosts_file: settings.known_hosts_file.take(),
    };
    settings.host = Some("host.invalid".to_owned());
    settings.port = None;
    let provider = provider(options(settings));
    let go_on = Cancellation::new();
    let data = provider.acquire(&runner_config(), &go_on).await.unwrap();
    let trace = RecordingTrace::new();
    let mut executor = provider.create(&data.clone().with(machine)).unwrap();
    executor
        .prepare(prepare_options(&trace), &go_on)
        .await
        .unwrap();
    executor.cleanup().await.unwrap();

    let engine = Endpoint::Engine {
        host: "tcp://127.0.0.1:1".to_owned(),
        tls_cert_path: None,
    };
    let mut executor = provider.create(&data.with(engine)).unwrap();
    let prepared = executor.prepare(prepare_options(&trace), &go_on).await;
    let error = prepared.unwrap_err();
    assert_eq!(
        error.failure_reason(),
        FailureReason::RunnerConfigurationError
    );
    assert!(
        error.chain().contains("needs an SSH server"),
        "{}",
        error.chain()
    );
    executor.cleanup().await.unwrap();
}
