//! A job's services without the job.

use crate::support::{engine, in_time};
use bollard::container::LogOutput;
use bollard::models::{ContainerConfig, ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CommitContainerOptions, CreateContainerOptions, ListContainersOptions, ListNetworksOptions,
    LogsOptions, RemoveContainerOptions, RemoveImageOptions, WaitContainerOptions,
};
use executor_core::JobTrace;
use executor_core::cancellation::Cancellation;
use executor_core::job::{Image, Job, JobId};
use executor_core::trace::{StreamKind, TraceStream};
use executor_core::variable::{JobVariable, JobVariables};
use executor_docker::config::DockerConfig;
use executor_docker::engine::labels::{Labels, OWNER};
use executor_docker::engine::names::Names;
use executor_docker::image::{Images, PullPolicy};
use executor_docker::network::{JobNetwork, NetworkMode};
use executor_docker::service::{PlannedServices, Services, ServicesOptions, captures_logs};
use executor_docker::{DockerError, Engine};
use executor_testkit::RecordingTrace;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) const BUSYBOX: &str = "runwright-test/busybox:1";

/// Returns a service that runs a script.
pub(super) fn script(alias: &str, script: &str) -> Image {
    of_image(BUSYBOX, alias, script)
}

/// Returns a service from an image that runs a script.
pub(super) fn of_image(image: &str, alias: &str, script: &str) -> Image {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    Image {
        alias: Some(alias.to_owned()),
        command,
        ..Image::named(image)
    }
}

/// Adds a variable to a service.
pub(super) fn with(mut service: Image, name: &str, value: &str) -> Image {
    service.variables.push(JobVariable::public(name, value));
    service
}

/// Returns settings that pull nothing.
pub(super) fn settings() -> DockerConfig {
    DockerConfig {
        pull_policy: vec![PullPolicy::Never],
        ..DockerConfig::default()
    }
}

/// Services of a job that no other test uses, and its network.
pub(super) struct Setup {
    pub(super) engine: Engine,
    pub(super) names: Names,
    pub(super) trace: RecordingTrace,
    pub(super) network: JobNetwork,
    pub(super) services: Services,
    owner: String,
}

impl Setup {
    /// Returns services whose images are present and of which none is started.
    pub(super) async fn new(
        test: &str,
        config: DockerConfig,
        variables: &[JobVariable],
        services: &[Image],
    ) -> Self {
        let trace = RecordingTrace::new();
        Self::with_trace(
            test,
            config,
            variables,
            services,
            &trace,
            Arc::new(trace.clone()),
        )
        .await
    }

    pub(super) async fn with_trace(
        test: &str,
        config: DockerConfig,
        variables: &[JobVariable],
        services: &[Image],
        visible: &RecordingTrace,
        trace: Arc<dyn JobTrace>,
    ) -> Self {
        let engine = engine().await;
        let owner = format!("svc-{test}-{}", std::process::id());
        let names = Names::new(&owner, JobId(7), 0);
        let labels = Labels::of(&Job::default(), &owner, 0);
        let variables: JobVariables = variables.iter().cloned().collect();
        let planned = PlannedServices::of(&config, services, &variables).expect("a plan");
        let mode = NetworkMode::choose(&config.network(), services.len(), false).expect("a mode");
        let cancellation = Cancellation::new();
        let network = JobNetwork::create(
            &engine,
            mode,
            &names,
            &labels,
            &config,
            &*trace,
            &cancellation,
        )
        .await
        .expect("a network");
        let options = ServicesOptions {
            engine: engine.clone(),
            names: names.clone(),
            labels,
            config: Arc::new(config),
            trace,
            capture_logs: captures_logs(&variables),
            binds: Vec::new(),
            mounts: Vec::new(),
        };
        let services = Services::new(options, planned);
        let images = Images::new(engine.clone());
        let pulled = services.pull(&images, &cancellation).await;
        pulled.expect("the images are there");
        Self {
            engine,
            names,
            trace: visible.clone(),
            network,
            services,
            owner,
        }
    }

    /// Returns started services with default settings.
    pub(super) async fn started(test: &str, services: &[Image]) -> Self {
        let setup = Self::new(test, settings(), &[], services).await;
        setup.start().await.expect("they start");
        setup
    }

    pub(super) async fn start(&self) -> Result<(), DockerError> {
        let cancellation = Cancellation::new();
        self.services.start(&self.network, &cancellation).await
    }

    pub(super) async fn ready(&self) -> Result<(), DockerError> {
        self.services.ready(&Cancellation::new()).await
    }

    /// Returns the runner's messages.
    pub(super) fn messages(&self) -> String {
        let messages = self.trace.text(TraceStream::SYSTEM);
        messages + &self.trace.text(TraceStream::SYSTEM_WARNING)
    }

    /// Returns the part of the job's log that comes from a service.
    pub(super) fn service_output(&self, index: u8) -> String {
        self.trace
            .text(TraceStream::service(index, StreamKind::Stdout))
    }

    /// Waits until the engine has this text in a service's log.
    pub(super) async fn wait_for_log(&self, index: usize, text: &str) {
        let name = self.names.service(index);
        let logged = async { while !self.log_of(&name).await.contains(text) {} };
        in_time(logged).await;
    }

    /// Returns the engine's log of a container.
    async fn log_of(&self, container: &str) -> String {
        let options = LogsOptions {
            stdout: true,
            stderr: true,
            ..LogsOptions::default()
        };
        let pieces = self.engine.api().logs(container, Some(options));
        let pieces = pieces.collect::<Vec<_>>().await.into_iter();
        let pieces = pieces.map(|piece| piece.expect("a log"));
        pieces.map(|piece: LogOutput| piece.to_string()).collect()
    }

    /// Runs a script in the network of the job's scripts and returns its output.
    pub(super) async fn in_the_job(&self, script: &str) -> String {
        let attachment = self.services.attachment(&self.network);
        let body = ContainerCreateBody {
            image: Some(BUSYBOX.to_owned()),
            cmd: Some(["sh", "-c", script].map(str::to_owned).to_vec()),
            host_config: Some(HostConfig {
                network_mode: attachment.network.mode,
                links: Some(attachment.links),
                extra_hosts: Some(attachment.extra_hosts),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptions {
            name: Some(self.names.build()),
            ..CreateContainerOptions::default()
        };
        let api = self.engine.api();
        let created = api.create_container(Some(options), body).await;
        let id = created.expect("the job's container").id;
        api.start_container(&id, None).await.expect("it starts");
        let ended = api.wait_container(&id, None::<WaitContainerOptions>);
        ended.collect::<Vec<_>>().await;
        let output = self.log_of(&id).await;
        let force = RemoveContainerOptions {
            force: true,
            ..RemoveContainerOptions::default()
        };
        api.remove_container(&id, Some(force)).await.expect("gone");
        output
    }

    /// Removes everything and checks that nothing remains.
    pub(super) async fn close(self) {
        self.services.remove().await.expect("services are removed");
        self.network.remove().await.expect("the network is removed");
        let filter = HashMap::from([("label".to_owned(), vec![format!("{OWNER}={}", self.owner)])]);
        let api = self.engine.api();
        let containers = api.list_containers(Some(ListContainersOptions {
            all: true,
            filters: Some(filter.clone()),
            ..ListContainersOptions::default()
        }));
        assert_eq!(containers.await.expect("a list").len(), 0);
        let networks = api.list_networks(Some(ListNetworksOptions {
            filters: Some(filter),
        }));
        assert_eq!(networks.await.expect("a list").len(), 0);
    }
}

/// A variant of the busybox image, changed by instructions such as `EXPOSE 80`.
pub(super) struct TestImage {
    engine: Engine,
    pub(super) name: String,
}

impl TestImage {
    pub(super) async fn new(test: &str, instructions: &str) -> Self {
        let engine = engine().await;
        let api = engine.api();
        let name = format!("runwright-test/svc-{test}-{}", std::process::id());
        let body = ContainerCreateBody {
            image: Some(BUSYBOX.to_owned()),
            ..ContainerCreateBody::default()
        };
        let created = api.create_container(None::<CreateContainerOptions>, body);
        let id = created.await.expect("a container").id;
        let options = CommitContainerOptions {
            container: Some(id.clone()),
            repo: Some(name.clone()),
            tag: Some("1".to_owned()),
            changes: Some(instructions.to_owned()),
            ..CommitContainerOptions::default()
        };
        let made = api
            .commit_container(options, ContainerConfig::default())
            .await;
        let removed = api.remove_container(&id, None).await;
        made.expect("an image");
        removed.expect("the container is removed");
        let name = format!("{name}:1");
        Self { engine, name }
    }

    pub(super) async fn remove(self) {
        let api = self.engine.api();
        let removed = api.remove_image(&self.name, None::<RemoveImageOptions>, None);
        removed.await.expect("the image is removed");
    }
}
