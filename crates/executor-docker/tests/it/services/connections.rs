//! How jobs connect to their services.

use super::setup::{BUSYBOX, Setup, TestImage, of_image, script, settings, with};
use bollard::models::NetworkCreateRequest;
use executor_core::BuildError;
use executor_core::ability::PortProxy;
use executor_core::cancellation::Cancellation;
use executor_core::job::Port;
use executor_core::variable::JobVariable;
use executor_docker::config::DockerConfig;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

/// Returns a script that answers every connection with a word.
fn answering_with(word: &str) -> String {
    format!("while true; do echo {word} | nc -l -p 80 -w 1; done")
}

/// Returns a script that queries all of these hosts and retries while a service is between two connections.
fn query(hosts: &str) -> String {
    query_port(hosts, 80)
}

pub(super) fn query_port(hosts: &str, port: u16) -> String {
    format!(
        "for host in {hosts}; do for try in $(seq 100); do \
         word=$(nc -w 2 $host {port} </dev/null 2>/dev/null) && [ -n \"$word\" ] && break; usleep 50000; \
         done; echo $host: $word; done"
    )
}

/// Returns a service's response. Retries while the service is between two connections: nothing listens then, and a
/// connection that arrives as the listener ends is reset.
async fn response_of(proxy: &dyn PortProxy, service: &str, port: u16) -> String {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_mins(1), "{service}:{port}");
        let connected = proxy.connect(service, port, &Cancellation::new()).await;
        let mut connection = match connected {
            Ok(connection) => connection,
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                continue;
            }
        };
        let mut answer = String::new();
        let read = connection.read_to_string(&mut answer).await;
        if read.is_ok() && !answer.is_empty() {
            return answer;
        }
    }
}

#[tokio::test]
async fn a_job_reaches_services_by_all_names_in_its_own_network() {
    // R-EXEC-55 R-EXEC-56
    let services = [
        with(
            script("one", &answering_with("first")),
            "RUNWRIGHT_READY_LOG",
            "up",
        ),
        script("two, zwei", &answering_with("second")),
    ];
    let services = services.map(|service| with(service, "RUNWRIGHT_READY_TCP", "80"));
    let services = services.map(|mut service| {
        service.command[2].insert_str(0, "echo up; ");
        service
    });
    let setup = Setup::started("reach", &services).await;
    setup.ready().await.expect("they are ready");
    // The names derived from an image belong to its first service.
    let output = setup
        .in_the_job(&query("one two zwei runwright-test-busybox"))
        .await;
    let expected = "one: first\ntwo: second\nzwei: second\nrunwright-test-busybox: first\n";
    assert_eq!(output, expected);
    assert!(
        setup.messages().contains("runwright-test__busybox"),
        "{}",
        setup.messages()
    );
    setup.close().await;
}

#[tokio::test]
async fn links_and_the_network_of_the_host_reach_services_too() {
    // R-EXEC-55 R-EXEC-56
    for mode in ["bridge", "host"] {
        let config = DockerConfig {
            network_mode: Some(mode.to_owned()),
            ..settings()
        };
        let service = script(
            "db other",
            "while true; do echo it | nc -l -p 27345 -w 1; done",
        );
        let service = with(service, "HEALTHCHECK_TCP_PORT", "27345");
        let setup = Setup::new(&format!("mode-{mode}"), config, &[], &[service]).await;
        setup.start().await.expect("it starts");
        setup.ready().await.expect("it is ready");
        let output = setup.in_the_job(&query_port("db other", 27345)).await;
        assert_eq!(output, "db: it\nother: it\n", "{mode}");
        setup.close().await;
    }
}

#[tokio::test]
async fn unreachable_networks_are_probed_from_inside() {
    // R-EXEC-56
    // Its containers have no gateway, so this host cannot reach them.
    let name = format!("svc-inside-{}", std::process::id());
    let engine = crate::support::engine().await;
    let network = NetworkCreateRequest {
        name: name.clone(),
        internal: Some(true),
        ..NetworkCreateRequest::default()
    };
    engine
        .api()
        .create_network(network)
        .await
        .expect("a network");
    let config = DockerConfig {
        network_mode: Some(name.clone()),
        ..settings()
    };
    let service = script("db", &format!("sleep 0.3; {}", answering_with("inside")));
    let service = with(service, "RUNWRIGHT_READY_TCP", "80");
    let setup = Setup::new("inside", config, &[], &[service]).await;
    setup.start().await.expect("it starts");
    setup.ready().await.expect("it is ready");
    assert!(
        !setup.messages().contains("WARNING"),
        "{}",
        setup.messages()
    );
    let answer = setup.in_the_job(&query("db")).await;

    let proxy = setup.services.port_proxy(None);
    let word = response_of(&*proxy, "db", 80).await;
    setup.close().await;
    engine
        .api()
        .remove_network(&name)
        .await
        .expect("it is removed");
    assert_eq!(answer, "db: inside\n");
    assert_eq!(word, "inside\n");
}

#[tokio::test]
async fn a_service_gets_its_variables_its_command_and_its_limits() {
    // R-EXEC-55
    let mut service = script("db", "echo $CI $OWN $0; id -u; sleep 60");
    service.command.push("argument".to_owned());
    service = with(with(service, "OWN", "own-$CI"), "PASSWORD", "$SECRET");
    service.docker = Some(serde_json::json!({ "user": "user" }));
    let job = [
        JobVariable::public("CI", "true"),
        JobVariable::masked("SECRET", "s3cret"),
    ];
    let config = DockerConfig {
        service_memory: Some("64m".parse().expect("a size")),
        ..settings()
    };
    let setup = Setup::new("variables", config, &job, &[service]).await;
    setup.start().await.expect("it starts");
    let name = setup.names.service(0);
    let found = setup.engine.api().inspect_container(&name, None).await;
    let found = found.expect("the container");
    let environment = found.config.unwrap_or_default().env.unwrap_or_default();
    let has = |line: &str| environment.iter().any(|it| it == line);
    assert!(has("CI=true") && has("OWN=own-true"), "{environment:?}");
    assert!(has("PASSWORD=s3cret"), "it names it itself");
    assert!(!environment.iter().any(|it| it.starts_with("SECRET=")));
    let host = found.host_config.unwrap_or_default();
    assert_eq!(host.memory, Some(64 << 20));
    assert_eq!(host.privileged, Some(false));
    setup.close().await;
}

#[tokio::test]
async fn the_ports_of_services_are_reached_from_outside() {
    // R-EXEC-56
    let image = TestImage::new("ports", "EXPOSE 80").await;
    let mut declared = script("two", "while true; do echo 2 | nc -l -p 81 -w 1; done");
    declared.ports.push(Port {
        number: 81,
        ..Port::default()
    });
    declared = with(declared, "RUNWRIGHT_READY_TCP", "81");
    let services = [of_image(&image.name, "one", &answering_with("1")), declared];
    let setup = Setup::started("proxy", &services).await;
    setup.ready().await.expect("they are ready");
    let proxy = setup.services.port_proxy(None);
    let cancellation = Cancellation::new();
    for (service, port, expect) in [("one", 80, "1\n"), ("TWO", 81, "2\n")] {
        let answer = response_of(&*proxy, service, port).await;
        assert_eq!(answer, expect);
    }
    for (service, port) in [("one", 81), ("two", 80), ("three", 80), ("build", 80)] {
        let refused = proxy.connect(service, port, &cancellation).await.err();
        assert!(
            matches!(refused, Some(BuildError::Config { .. })),
            "{service}:{port}"
        );
    }
    setup.close().await;
    image.remove().await;
}

#[tokio::test]
async fn one_image_twice_needs_an_alias() {
    // R-EXEC-55
    let nameless = || script("", "sleep 60");
    let setup = Setup::started("twice", &[nameless(), nameless()]).await;
    assert_eq!(setup.services.len(), 1);
    assert!(
        setup.messages().contains("Give it an alias"),
        "{}",
        setup.messages()
    );
    assert!(
        setup
            .messages()
            .contains(&format!("Starting service {BUSYBOX} ..."))
    );
    setup.close().await;
}
