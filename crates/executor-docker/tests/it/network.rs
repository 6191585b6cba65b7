//! The networks of jobs, in a real engine.

use crate::support::engine;
use crate::support::test_transport::is_socket_or_skips;
use bollard::models::{ContainerCreateBody, HostConfig, NetworkInspect};
use bollard::query_parameters::{CreateContainerOptions, RemoveContainerOptions};
use executor_core::cancellation::{CancelCause, Cancellation};
use executor_core::job::{Job, JobId};
use executor_docker::config::DockerConfig;
use executor_docker::engine::labels::{JOB_ID, Labels, OWNER};
use executor_docker::engine::names::Names;
use executor_docker::network::{JobNetwork, NetworkMode};
use executor_docker::{DockerError, Engine};
use executor_testkit::RecordingTrace;

const IMAGE: &str = "runwright-test/busybox:1";

/// A network of a job that no other test uses.
struct Setup {
    engine: Engine,
    names: Names,
    labels: Labels,
}

impl Setup {
    async fn new(test: &str) -> Self {
        let owner = format!("net-{test}-{}", std::process::id());
        Self {
            engine: engine().await,
            names: Names::new(&owner, JobId(7), 0),
            labels: Labels::of(&Job::default(), &owner, 0),
        }
    }

    async fn create(
        &self,
        config: &DockerConfig,
        cancellation: &Cancellation,
    ) -> Result<JobNetwork, DockerError> {
        let mode = NetworkMode::choose(&config.network(), 1, false).expect("a mode");
        let (names, labels) = (&self.names, &self.labels);
        let trace = RecordingTrace::new();
        JobNetwork::create(
            &self.engine,
            mode,
            names,
            labels,
            config,
            &trace,
            cancellation,
        )
        .await
    }

    async fn made(&self, config: &DockerConfig) -> JobNetwork {
        let made = self.create(config, &Cancellation::new()).await;
        made.expect("the network is made")
    }

    /// Returns the engine's description of the job's network.
    async fn inspect(&self) -> Option<NetworkInspect> {
        let name = self.names.network();
        let found = self.engine.api().inspect_network(&name, None);
        found.await.ok()
    }
}

#[tokio::test]
async fn the_jobs_own_network_follows_the_settings_and_is_removed() {
    // R-EXEC-56 R-EXEC-68
    let setup = Setup::new("own").await;
    let config = DockerConfig {
        network_mtu: 1350,
        enable_ipv6: true,
        ..DockerConfig::default()
    };
    let network = setup.made(&config).await;
    let found = setup.inspect().await.expect("it is there");
    let options = found.options.unwrap_or_default();
    assert_eq!(options["com.docker.network.driver.mtu"], "1350");
    assert_eq!(found.enable_ipv6, Some(true));
    let labels = found.labels.unwrap_or_default();
    assert!(labels[OWNER].starts_with("net-own-") && labels.contains_key(JOB_ID));

    network.remove().await.expect("it is removed");
    assert!(setup.inspect().await.is_none());
    network.remove().await.expect("once more does no harm");
}

#[tokio::test]
async fn packets_fit_the_default_route() {
    // R-EXEC-56
    if !is_socket_or_skips(
        "network::packets_fit_the_default_route",
        "the way out of another host is not seen from here; `network_mtu` says it there",
    ) {
        return;
    }
    let setup = Setup::new("mtu").await;
    let network = setup.made(&DockerConfig::default()).await;
    let found = setup.inspect().await.expect("it is there");
    network.remove().await.expect("it is removed");
    let options = found.options.unwrap_or_default();
    let mtu: u32 = options["com.docker.network.driver.mtu"]
        .parse()
        .expect("a number");
    for interface in default_interfaces() {
        let file = format!("/sys/class/net/{interface}/mtu");
        let way_out: u32 = std::fs::read_to_string(file)
            .expect("an mtu")
            .trim()
            .parse()
            .expect("a number");
        assert!(
            mtu <= way_out,
            "{mtu} is more than the {way_out} of {interface}"
        );
    }
    assert!(mtu >= 1280, "{mtu}");
}

/// Returns the interfaces of default routes.
fn default_interfaces() -> Vec<String> {
    let routes = std::fs::read_to_string("/proc/net/route").expect("routes");
    let defaults = routes
        .lines()
        .filter(|line| line.split_whitespace().nth(1) == Some("00000000"));
    defaults
        .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
        .collect()
}

#[tokio::test]
async fn a_network_is_removed_with_connected_containers() {
    // R-EXEC-68
    let setup = Setup::new("busy").await;
    let network = setup.made(&DockerConfig::default()).await;
    let api = setup.engine.api();
    let body = ContainerCreateBody {
        image: Some(IMAGE.to_owned()),
        cmd: Some(vec!["sleep".to_owned(), "60".to_owned()]),
        host_config: Some(HostConfig {
            network_mode: Some(network.name().to_owned()),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    };
    let options = CreateContainerOptions {
        name: Some(setup.names.build()),
        ..CreateContainerOptions::default()
    };
    let created = api.create_container(Some(options), body).await;
    let id = created.expect("a container").id;
    api.start_container(&id, None).await.expect("it starts");

    let removed = network.remove().await;
    let force = RemoveContainerOptions {
        force: true,
        ..RemoveContainerOptions::default()
    };
    let gone = api.remove_container(&id, Some(force)).await;
    gone.expect("the container is removed");
    removed.expect("the network is removed");
    assert!(setup.inspect().await.is_none());
}

#[tokio::test]
async fn a_leftover_network_is_found_by_name_and_replaced() {
    // R-EXEC-68
    let setup = Setup::new("left").await;
    let config = DockerConfig::default();
    drop(setup.made(&config).await);
    // Like a later process, this does not know the id.
    let mode = NetworkMode::choose(&config.network(), 1, false).expect("a mode");
    let found = JobNetwork::named(&setup.engine, mode, &setup.names);
    found.remove().await.expect("it is removed");
    assert!(setup.inspect().await.is_none());
}

#[tokio::test]
async fn a_stopped_job_leaves_no_network() {
    // R-EXEC-68
    let setup = Setup::new("stop").await;
    let cancellation = Cancellation::new();
    cancellation.cancel(CancelCause::User);
    let created = setup.create(&DockerConfig::default(), &cancellation).await;
    assert!(matches!(
        created,
        Err(DockerError::Canceled(CancelCause::User))
    ));
    assert!(setup.inspect().await.is_none());
}

#[tokio::test]
async fn many_networks_are_created_and_removed_at_once() {
    // R-EXEC-56 R-EXEC-68
    let mut setups = Vec::new();
    for number in 0..6 {
        setups.push(Setup::new(&format!("many{number}")).await);
    }
    let (config, cancellation) = (DockerConfig::default(), Cancellation::new());
    let made = setups
        .iter()
        .map(|setup| setup.create(&config, &cancellation));
    for network in futures_util::future::join_all(made).await {
        network
            .expect("it is made")
            .remove()
            .await
            .expect("it is removed");
    }
    for setup in &setups {
        assert!(setup.inspect().await.is_none());
    }
}

#[tokio::test]
async fn an_existing_network_is_used_and_kept() {
    let setup = Setup::new("other").await;
    let config = DockerConfig {
        network_mode: Some("bridge".to_owned()),
        ..DockerConfig::default()
    };
    let network = setup.create(&config, &Cancellation::new()).await;
    let network = network.expect("there is nothing to make");
    assert_eq!(network.name(), "bridge");
    assert!(!network.resolves_names());
    network.remove().await.expect("nothing is removed");
    let bridge = setup.engine.api().inspect_network("bridge", None).await;
    assert!(bridge.is_ok());
    assert!(setup.inspect().await.is_none());
}
