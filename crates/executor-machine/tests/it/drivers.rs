//! The drivers, with real programs.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use executor_core::prelude::*;
use executor_core::{Endpoint, chain};
use executor_machine::drivers::{DockerMachine, PluginDriver, StaticHost, StaticHosts};
use executor_machine::settings::{AutoscalerSettings, MachineSettings};
use executor_machine::{DriverError, MachineDriver, MachineLayer, PoolOptions, Supervisor};
use executor_testkit::{OptionsBuilder, ScriptedProvider, runner_config};
use process::Settings;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

/// A directory with a program, whose calls it notes.
struct Program {
    directory: TempDir,
    supervisor: Supervisor,
}

impl Program {
    /// Returns a shell script. `$0.calls` is the file for notes.
    fn new(script: &str) -> Self {
        Self::of(format!("#!/bin/sh\n{script}\n").as_bytes())
    }

    /// Returns a program with this content.
    fn of(content: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        process::write_program(&path, content).unwrap();
        let supervisor = Supervisor::start(Settings::default()).unwrap();
        Self {
            directory,
            supervisor,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("program.calls")).unwrap_or_default();
        calls.lines().map(ToOwned::to_owned).collect()
    }

    fn plugin(&self, config: Value) -> PluginDriver {
        let config: Map<String, Value> = serde_json::from_value(config).unwrap();
        PluginDriver::new(
            "./program",
            self.directory.path(),
            config,
            self.supervisor.tree(),
        )
    }

    fn docker_machine(&self) -> DockerMachine {
        let options = vec!["google-zone=europe-west1-b".to_owned()];
        let named = vec!["google-tags=%s".to_owned()];
        DockerMachine::new("google", options, named, self.supervisor.tree())
            .with_program(self.path("program").to_str().unwrap())
    }
}

/// Returns an SSH server as far as its greeting, and its address.
fn greeter() -> StaticHost {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"SSH-2.0-test\r\n");
        }
    });
    host(port)
}

fn host(port: u16) -> StaticHost {
    serde_json::from_value(json!({"host": "127.0.0.1", "port": port})).unwrap()
}

fn port_of(endpoint: &Endpoint) -> u16 {
    match endpoint {
        Endpoint::Ssh { port, .. } => *port,
        Endpoint::Engine { .. } => panic!("{endpoint:?}"),
    }
}

fn words(error: &DriverError) -> String {
    chain(error)
}

#[tokio::test]
async fn plugin_gets_requests_and_answers() {
    let program = Program::new(
        r#"read -r request; echo "$request" >> "$0.calls"
        case $request in
            *'"call":"list"'*) echo '{"machines": ["ci-1"]}' ;;
            *'"call":"create"'*) echo '{"endpoint": {"ssh": {"host": "10.0.0.7", "user": "ci"}}}' ;;
            *) echo '{}' ;;
        esac"#,
    );
    let plugin = program.plugin(json!({"zone": "b"}));
    assert_eq!(plugin.list("ci-").await.unwrap(), ["ci-1"]);
    let endpoint = plugin.create("ci-2").await.unwrap();
    let expected = Endpoint::Ssh {
        host: "10.0.0.7".to_owned(),
        port: 22,
        user: Some("ci".to_owned()),
        identity_file: None,
        known_hosts_file: None,
    };
    assert_eq!(endpoint, expected);
    plugin.check("ci-2", &endpoint).await.unwrap();
    plugin.remove("ci-2").await.unwrap();
    let requests: Vec<Value> = program
        .calls()
        .iter()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let config = json!({"zone": "b"});
    let ssh = json!({"host": "10.0.0.7", "port": 22, "user": "ci", "identity_file": null, "known_hosts_file": null});
    let expected = [
        json!({"version": 1, "call": "list", "prefix": "ci-", "config": config}),
        json!({"version": 1, "call": "create", "name": "ci-2", "config": config}),
        json!({"version": 1, "call": "check", "name": "ci-2", "endpoint": {"ssh": ssh}, "config": config}),
        json!({"version": 1, "call": "remove", "name": "ci-2", "config": config}),
    ];
    assert_eq!(requests, expected);
}

#[tokio::test]
async fn bad_answers_of_a_plugin_are_errors() {
    let cases = [
        (r#"echo '{"error": "no quota"}'"#, "no quota"),
        // What a program says is clearer than how it ends.
        (r#"echo '{"error": "no quota"}'; exit 3"#, "no quota"),
        (
            "echo 'wrong key' >&2; exit 3",
            "./program ended with exit code 3: wrong key",
        ),
        ("exit 3", "./program ended with exit code 3"),
        (
            "echo '{}'",
            "the answer of ./program to `create` has no `endpoint`",
        ),
        (
            "echo hello",
            "read the answer of ./program to `create`, which begins with \"hello\\n\": expected value at line 1 column 1",
        ),
        (
            r#"echo '{"endpiont": {}}'"#,
            "read the answer of ./program to `create`, which begins with \"{\\\"endpiont\\\": {}}\\n\": \
             unknown field `endpiont`, expected one of `machines`, `endpoint`, `error` at line 1 column 11",
        ),
        (
            r#"echo '{"endpoint": {"ssh": {"port": 22}}}'"#,
            "read the answer of ./program to `create`, which begins with \"{\\\"endpoint\\\": {\\\"ssh\\\": {\\\"port\\\": 22}}}\\n\": \
             missing field `host` at line 1 column 33",
        ),
    ];
    for (script, expected) in cases {
        let program = Program::new(script);
        let error = program.plugin(json!({})).create("ci-1").await.unwrap_err();
        assert_eq!(words(&error), expected, "{script}");
    }
    let nothing = Program::new("");
    fs::remove_file(nothing.path("program")).unwrap();
    let error = nothing.plugin(json!({})).create("ci-1").await.unwrap_err();
    let message = words(&error);
    assert!(message.starts_with("run "), "{message}");
    assert!(message.contains("/program"), "{message}");
}

#[tokio::test]
async fn plugin_that_takes_too_long_is_killed() {
    let program = Program::new("echo $$ > \"$0.calls\"; exec sleep 1000");
    let plugin = program.plugin(json!({}));
    let creation = plugin.create("ci-1");
    let started = async {
        while program.calls().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        created = creation => panic!("{created:?}"),
        () = started => {}
    }
    let id = program.calls().remove(0);
    let is_gone = || {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"));
        stat.map_or(true, |it| it.contains(") Z"))
    };
    let gone = async {
        while !is_gone() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_mins(1), gone)
        .await
        .expect("it ends");
}

/// What a `docker-machine` of this host says. `rm` and `create` change the list.
const STUB: &str = r#"echo "$*" >> "$0.calls"
    case $1 in
        ls) cat "$0.machines" 2>/dev/null || : ;;
        create) for name; do :; done; echo "$name" >> "$0.machines" ;;
        config) echo '--tlsverify
--tlscacert="/m/ca.pem"
--tlscert="/m/cert.pem"
--tlskey="/m/key.pem"
-H=tcp://10.0.0.7:2376' ;;
        rm) rm "$0.machines" ;;
    esac"#;

#[tokio::test]
async fn docker_machine_is_called_as_gitlab_runner_calls_it() {
    // R-EXEC-73
    let program = Program::new(STUB);
    let driver = program.docker_machine();
    let endpoint = driver.create("ci-1").await.unwrap();
    let expected = Endpoint::Engine {
        host: "tcp://10.0.0.7:2376".to_owned(),
        tls_cert_path: Some("/m".into()),
    };
    assert_eq!(endpoint, expected);
    driver.check("ci-1", &endpoint).await.unwrap();
    fs::write(program.path("program.machines"), "ci-1\nother-1\n").unwrap();
    assert_eq!(driver.list("ci-").await.unwrap(), ["ci-1"]);
    driver.remove("ci-1").await.unwrap();
    // One that is gone is no error.
    driver.remove("ci-1").await.unwrap();
    let expected = [
        "ls -q",
        "create --driver google --google-zone=europe-west1-b --google-tags=ci-1 ci-1",
        "config ci-1",
        "config ci-1",
        "ls -q",
        "ls -q",
        "rm -y ci-1",
        "ls -q",
    ];
    assert_eq!(program.calls(), expected);
}

#[tokio::test]
async fn docker_machine_finishes_what_exists() {
    // R-EXEC-73
    let cases = [
        // It exists and is ready.
        ("", "ci-1", "ls -q, config ci-1"),
        // It exists, and answers after it was provisioned.
        (
            "[ \"$1\" != config ] || [ -e \"$0.done\" ] || exit 1; [ \"$1\" != provision ] || touch \"$0.done\"",
            "ci-1",
            "ls -q, config ci-1, provision ci-1, config ci-1",
        ),
        // Its creation fails at the last part.
        (
            "[ \"$1\" != create ] || { echo ci-1 > \"$0.machines\"; echo \"$*\" >> \"$0.calls\"; exit 1; }",
            "",
            "ls -q, create --driver google --google-zone=europe-west1-b --google-tags=ci-1 ci-1, ls -q, provision ci-1, config ci-1",
        ),
    ];
    for (before, existing, expected) in cases {
        let script = STUB.replacen('\n', &format!("\n{before}\n"), 1);
        let program = Program::new(&script);
        fs::write(program.path("program.machines"), existing).unwrap();
        program.docker_machine().create("ci-1").await.unwrap();
        let calls = program.calls();
        let calls: Vec<_> = calls.iter().map(String::as_str).collect();
        assert_eq!(dedup(calls).join(", "), expected, "{before}");
    }
}

/// A call that a case and the stub have both noted is one.
fn dedup(mut calls: Vec<&str>) -> Vec<&str> {
    calls.dedup();
    calls
}

#[tokio::test]
async fn failed_creations_fail_the_job_with_their_words() {
    // R-EXEC-87
    let cases = [
        // The cloud.
        (
            "[ \"$1\" != create ] || { echo 'Error creating machine: quota exceeded' >&2; exit 1; }",
            "docker-machine create: Error creating machine: quota exceeded",
        ),
        // The settings.
        (
            "[ \"$1\" != create ] || { echo 'Driver \"google\" not found.' >&2; exit 1; }",
            "docker-machine create: Driver \"google\" not found.",
        ),
        // The engine on the machine.
        (
            "[ \"$1\" != config ] || { echo 'Error checking TLS connection: connection refused' >&2; exit 1; }",
            "docker-machine config: Error checking TLS connection: connection refused",
        ),
    ];
    for (before, expected) in cases {
        let program = Program::new(&STUB.replacen('\n', &format!("\n{before}\n"), 1));
        let driver = Arc::new(program.docker_machine());
        let layer = MachineLayer::new(PoolOptions::new("ci-"), driver);
        let provider = ProviderStack::new(ScriptedProvider::new())
            .layer(&layer)
            .build();
        provider.init().unwrap();
        let go_on = Cancellation::new();
        let config = runner_config("fleet");
        let data = loop {
            // The pool lists the machines first.
            match provider.acquire(&config, &go_on).await {
                Ok(data) => break data,
                Err(_) => sleep(Duration::from_millis(5)).await,
            }
        };
        let mut executor = provider.create(&data).unwrap();
        let options = OptionsBuilder::new().build();
        let error = executor.prepare(options, &go_on).await.unwrap_err();
        let message = error.chain();
        assert!(message.ends_with(expected), "{message}");
        executor.cleanup().await.unwrap();
        drop(executor);
        provider.release(&config, data).await;
        provider.shutdown(Duration::from_mins(1)).await.unwrap();
    }
}

#[tokio::test]
async fn addresses_of_docker_machine_without_tls_and_without_sense() {
    let program = Program::new("[ \"$1\" != config ] || echo '-H=tcp://10.0.0.7:2375'");
    let endpoint = program.docker_machine().create("ci-1").await.unwrap();
    let expected = Endpoint::Engine {
        host: "tcp://10.0.0.7:2375".to_owned(),
        tls_cert_path: None,
    };
    assert_eq!(endpoint, expected);
    let program =
        Program::new("[ \"$1\" != config ] || echo '-H=tcp://10.0.0.7:2376 --tlscert=/a/cert.pem'");
    let error = program.docker_machine().create("ci-1").await.unwrap_err();
    assert!(
        words(&error).starts_with("docker-machine config: cannot read"),
        "{error}"
    );
}

#[tokio::test]
async fn static_host_is_one_machine_at_a_time() {
    // R-EXEC-81
    let (first, second) = (greeter(), greeter());
    let driver = StaticHosts::new(vec![first.clone(), second.clone()]);
    let one = driver.create("ci-1").await.unwrap();
    let other = driver.create("ci-2").await.unwrap();
    assert_eq!([port_of(&one), port_of(&other)], [first.port, second.port]);
    // The same again for the same name.
    assert_eq!(driver.create("ci-1").await.unwrap(), one);
    let error = driver.create("ci-3").await.unwrap_err();
    assert_eq!(words(&error), "all hosts of the list are in use");
    driver.remove("ci-1").await.unwrap();
    assert_eq!(driver.create("ci-3").await.unwrap(), one);
    driver.check("ci-3", &one).await.unwrap();
    // The next process has all hosts.
    assert!(driver.list("ci-").await.unwrap().is_empty());
}

#[tokio::test]
async fn static_host_that_does_not_answer_is_passed_over() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = host(nobody.local_addr().unwrap().port());
    drop(nobody);
    let alive = greeter();
    let driver = StaticHosts::new(vec![dead.clone(), alive.clone()]);
    let endpoint = driver.create("ci-1").await.unwrap();
    assert_eq!(port_of(&endpoint), alive.port);
    let error = driver.create("ci-2").await.unwrap_err();
    let message = words(&error);
    assert!(
        message.starts_with(&format!("connect to 127.0.0.1:{}", dead.port)),
        "{message}"
    );
}

fn autoscaler(text: &str) -> Result<AutoscalerSettings, toml::de::Error> {
    toml::from_str(text)
}

#[tokio::test]
async fn settings_lead_to_drivers() {
    let program =
        Program::new(r#"echo '{"endpoint": {"ssh": {"host": "h", "known_hosts_file": "hosts"}}}'"#);
    let directory = program.directory.path();
    let supervisor = &program.supervisor;
    let alive = greeter();
    let hosts = format!(
        "plugin = 'static'\n[plugin_config]\nhosts = [{{ host = '127.0.0.1', port = {} }}]\n\
         [connector_config]\nusername = 'ci'\nkey_path = 'key'",
        alive.port
    );
    assert_eq!(
        autoscaler(&hosts)
            .unwrap()
            .pool("ci-")
            .unwrap()
            .limits
            .machines,
        1
    );
    let driver = autoscaler(&hosts)
        .unwrap()
        .driver(supervisor, directory)
        .unwrap();
    let expected = Endpoint::Ssh {
        host: "127.0.0.1".to_owned(),
        port: alive.port,
        user: Some("ci".to_owned()),
        identity_file: Some(directory.join("key")),
        known_hosts_file: None,
    };
    assert_eq!(driver.create("ci-1").await.unwrap(), expected);
    let plugin = autoscaler("plugin = './program'").unwrap();
    let endpoint = plugin
        .driver(supervisor, directory)
        .unwrap()
        .create("ci-1")
        .await;
    let Endpoint::Ssh {
        known_hosts_file, ..
    } = endpoint.unwrap()
    else {
        panic!("it is no SSH server");
    };
    assert_eq!(known_hosts_file, Some(directory.join("hosts")));
    let wrong = [
        ("", "plugin is missing"),
        ("plugin = 'static'", "plugin_config: missing field `hosts`"),
        (
            "plugin = 'static'\nplugin_config = { hosts = [] }",
            "plugin_config: there are no hosts",
        ),
        (
            "plugin = 'static'\nplugin_config = { hosts = [{ hots = 'h' }] }",
            "plugin_config: unknown field `hots`, expected one of `host`, `port`, `user`, `identity_file`, `known_hosts_file`",
        ),
    ];
    for (text, expected) in wrong {
        let error = autoscaler(text)
            .unwrap()
            .driver(supervisor, directory)
            .unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = MachineSettings::default().driver(supervisor).unwrap_err();
    assert_eq!(error.to_string(), "MachineDriver is missing");
}

#[test]
fn prefix_is_that_of_the_name() {
    let prefix = |name: &str| {
        let settings = MachineSettings {
            machine_name: name.to_owned(),
            ..MachineSettings::default()
        };
        settings.prefix("My Fleet")
    };
    assert_eq!(prefix("fleet-%s"), "fleet-");
    assert_eq!(prefix("fleet-%s.example.com"), "fleet-");
    assert_eq!(prefix("fleet"), "fleet-");
    assert_eq!(prefix("%s"), "runwright-my-fleet-");
    assert_eq!(AutoscalerSettings::prefix(""), "runwright-");
}

#[test]
fn words_without_support_are_refused() {
    let cases = [
        (
            "scale_throttle = { limit = nan }",
            "scale_throttle.limit must be a number",
        ),
        (
            "plugin = 'local-engine'\ninstance_ready_command = 'true'",
            "instance_ready_command with local-engine is not supported",
        ),
        (
            "connector_config = { protocol = 'winrm' }",
            "connector_config.protocol is not supported",
        ),
        (
            "connector_config = { password = 'x' }",
            "connector_config.password is not supported",
        ),
        (
            "vm_isolation = { enabled = true }",
            "vm_isolation is not supported",
        ),
    ];
    for (text, expected) in cases {
        let error = autoscaler(text)
            .unwrap()
            .pool("ci-")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = autoscaler("max_instanses = 3").unwrap_err().to_string();
    assert!(error.contains("unknown field `max_instanses`"), "{error}");
}

/// The example of the guide.
#[tokio::test]
async fn boards_are_shared_by_two_runners() {
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/machine-plugins/boards.py");
    let program = Program::of(&fs::read(example).unwrap());
    let (first, second) = (greeter(), greeter());
    let boards = [&first, &second].map(|it| json!({"host": it.host, "port": it.port}));
    let one = program.plugin(json!({"boards": boards}));
    let other = program.plugin(json!({"boards": boards}));
    let endpoint = one.create("a-1").await.unwrap();
    assert_eq!(port_of(&endpoint), first.port);
    assert_eq!(port_of(&other.create("b-1").await.unwrap()), second.port);
    let error = other.create("b-2").await.unwrap_err();
    assert_eq!(words(&error), "all boards are in use");
    assert_eq!(one.list("a-").await.unwrap(), ["a-1"]);
    one.check("a-1", &endpoint).await.unwrap();
    one.remove("a-1").await.unwrap();
    one.remove("a-1").await.unwrap();
    assert_eq!(port_of(&other.create("b-2").await.unwrap()), first.port);
    // A machine is one board, also after a change of the list.
    let changed = program.plugin(json!({"boards": [{"host": second.host, "port": second.port}]}));
    other.remove("b-1").await.unwrap();
    assert_eq!(port_of(&changed.create("b-2").await.unwrap()), second.port);
    assert_eq!(other.list("b-").await.unwrap(), ["b-2"]);
    let wrong = program.plugin(json!({})).create("b-3").await.unwrap_err();
    assert_eq!(words(&wrong), "'boards' is missing");
}
