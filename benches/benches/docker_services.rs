//! The time at which a service is reported ready, against the moment its port opens.
//!
//! `RUNWRIGHT_TEST_DOCKER=unix:///.. cargo bench -p benches --bench docker_services`, with the images of `cargo xtask
//! test` in that engine. A service opens its port some time after its start, and a separate observer tries the port
//! every millisecond to find that moment. Each round has two services, which the job awaits in parallel.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::Context as _;
use benches::statistics::{median, millis};
use executor_core::cancellation::Cancellation;
use executor_core::job::{Image, Job, JobId};
use executor_core::variable::{JobVariable, JobVariables};
use executor_docker::config::DockerConfig;
use executor_docker::engine::labels::Labels;
use executor_docker::engine::names::Names;
use executor_docker::image::{Images, PullPolicy};
use executor_docker::network::{JobNetwork, NetworkMode};
use executor_docker::service::{PlannedServices, Services, ServicesOptions};
use executor_docker::{DockerHost, Engine};
use executor_testkit::RecordingTrace;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

const IMAGE: &str = "runwright-test/busybox:1";
const ROUNDS: u32 = 15;
const GOAL: Duration = Duration::from_millis(100);

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let address = std::env::var("RUNWRIGHT_TEST_DOCKER")
        .context("RUNWRIGHT_TEST_DOCKER says where Docker is, as in cargo xtask test")?;
    let engine = Engine::connect(&DockerHost::parse(&address)?).await?;
    let mut late = Vec::new();
    for round in 0..ROUNDS {
        late.push(one(&engine, round).await?);
    }
    let worst = late.iter().max().copied().unwrap_or_default();
    let verdict = if worst <= GOAL { "met" } else { "NOT MET" };
    println!("a service is ready after its port opened, {ROUNDS} rounds of two services");
    println!("  median         {:>8.2} ms", millis(median(&late)));
    println!(
        "  worst          {:>8.2} ms   goal <= {} ms: {verdict}",
        millis(worst),
        GOAL.as_millis()
    );
    Ok(())
}

/// Returns the delay between the opening of the later of two ports and the report that both services are ready.
async fn one(engine: &Engine, round: u32) -> anyhow::Result<Duration> {
    let names = Names::new(
        &format!("bench-{}", std::process::id()),
        JobId(round.into()),
        0,
    );
    let labels = Labels::of(&Job::default(), "bench", 0);
    let config = DockerConfig {
        pull_policy: vec![PullPolicy::Never],
        ..DockerConfig::default()
    };
    // A delay that is not a multiple of any polling interval.
    let wait = 400 + round * 37;
    let services = [service("one", wait), service("two", wait / 2)];
    let planned = PlannedServices::of(&config, &services, &JobVariables::new())?;
    let (trace, cancellation) = (RecordingTrace::new(), Cancellation::new());
    let own = NetworkMode::Own;
    let network =
        JobNetwork::create(engine, own, &names, &labels, &config, &trace, &cancellation).await?;
    let options = ServicesOptions {
        engine: engine.clone(),
        names: names.clone(),
        labels,
        config: Arc::new(config),
        trace: Arc::new(trace.clone()),
        capture_logs: false,
        binds: Vec::new(),
        mounts: Vec::new(),
    };
    let services = Services::new(options, planned);
    let measured = measure(engine, &services, &network, &names, &cancellation).await;
    services.remove().await?;
    network.remove().await?;
    measured
}

fn service(alias: &str, wait: u32) -> Image {
    let script = format!("usleep {}; exec httpd -f -p 80", wait * 1000);
    Image {
        alias: Some(alias.to_owned()),
        command: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        variables: vec![JobVariable::public("RUNWRIGHT_READY_TCP", "80")],
        ..Image::named(IMAGE)
    }
}

async fn measure(
    engine: &Engine,
    services: &Services,
    network: &JobNetwork,
    names: &Names,
    cancellation: &Cancellation,
) -> anyhow::Result<Duration> {
    let images = Images::new(engine.clone());
    services.pull(&images, cancellation).await?;
    services.start(network, cancellation).await?;
    let first = opens(address(engine, &names.service(0)).await?);
    let second = opens(address(engine, &names.service(1)).await?);
    let ready = async {
        let ready = services.ready(cancellation).await;
        ready.map(|()| Instant::now())
    };
    let (first, second, ready) = tokio::join!(first, second, ready);
    Ok(ready?.saturating_duration_since(first.max(second)))
}

async fn address(engine: &Engine, container: &str) -> anyhow::Result<IpAddr> {
    let found = engine.api().inspect_container(container, None).await?;
    let settings = found.network_settings.context("it has a network")?;
    let mut networks = settings.networks.unwrap_or_default().into_values();
    let address = networks.find_map(|endpoint| endpoint.ip_address?.parse().ok());
    address.context("it has an address")
}

/// Returns when the port opened.
async fn opens(address: IpAddr) -> Instant {
    while TcpStream::connect((address, 80)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Instant::now()
}
