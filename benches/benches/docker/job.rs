//! A job that does nothing, against `docker run` of nothing and against gitlab-ci-local with Docker.

use crate::means::{IMAGE, address, against, heading, row};
use anyhow::Context as _;
use benches::statistics::{median, ratio};
use benches::{Bench, Workload, peer};
use jiff::Timestamp;
use std::path::Path;
use std::time::Duration;

const ROUNDS: usize = 12;
const PEER_ROUNDS: usize = 3;
const JOBS: usize = 10;
const GOAL: f64 = 1.4;
const PEER_GOAL: f64 = 3.0;

pub(crate) async fn measure() -> anyhow::Result<()> {
    let (bench, address) = (Bench::start()?, address()?);
    let jobs_at_once = JOBS.to_string();
    let runwright = bench.runwright().await?.env("DOCKER_HOST", &address);
    let runwright = match std::env::var_os("RUNWRIGHT_AGENT") {
        Some(agent) => runwright.env("RUNWRIGHT_AGENT", agent),
        None => runwright,
    };
    let project = bench.project(&Workload::one()).await?;
    let events = project.root().with_extension("events");
    let options = ["run", "--executor", "docker", "--image", IMAGE, "--events"];
    let events_path = events.to_str().context("a plain path")?;
    let one = runwright
        .clone()
        .run_with(&[&options[..], &[events_path]].concat())
        .command(&bench, &project);
    let docker = ["--host", &address, "run", "--rm", IMAGE, "true"];
    let docker = bench.command("docker").args(docker);

    let (mut floors, mut wholes, mut finished) = (Vec::new(), Vec::new(), Vec::new());
    let (mut of_whole, mut of_finished) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let floor = bench.run(&docker).await?.succeeded()?.wall;
        let begin = Timestamp::now();
        let whole = bench.run(&one).await?.succeeded()?.wall;
        let end = job_finished(&events)?;
        if round > 0 {
            let end = Duration::try_from(end.duration_since(begin))?;
            floors.push(floor);
            wholes.push(whole);
            finished.push(end);
            of_whole.push(ratio(whole, floor));
            of_finished.push(ratio(end, floor));
        }
    }
    heading(&format!(
        "a job that does nothing, {ROUNDS} rounds in turn, medians"
    ));
    row("docker run --rm IMAGE true", &floors);
    against(
        "from runwright's start to job_finished",
        &finished,
        &of_finished,
        GOAL,
    );
    against(
        "from runwright's start to its end",
        &wholes,
        &of_whole,
        GOAL,
    );

    let peer = peer::gitlab_ci_local_docker(&bench, IMAGE).await;
    let peer = peer.tool.context(peer.name)?.env("DOCKER_HOST", &address);
    for workload in [Workload::one(), Workload::parallel(JOBS)] {
        let project = bench.project(&workload).await?;
        let many = runwright
            .clone()
            .run_with(&[&options[..5], &["--concurrency", &jobs_at_once]].concat());
        let (ours, theirs) = (
            many.command(&bench, &project),
            peer.command(&bench, &project),
        );
        let (mut our_times, mut their_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..=PEER_ROUNDS {
            let our = bench.run(&ours).await?.succeeded()?.wall;
            let their = bench.run(&theirs).await?.succeeded()?.wall;
            if round > 0 {
                our_times.push(our);
                their_times.push(their);
                ratios.push(ratio(their, our));
            }
        }
        let faster = median(&ratios);
        let verdict = if faster >= PEER_GOAL {
            "met"
        } else {
            "NOT MET"
        };
        heading(&format!(
            "{}, all at once, whole programs, {PEER_ROUNDS} rounds in turn, medians",
            workload.name()
        ));
        row("runwright", &our_times);
        row("gitlab-ci-local", &their_times);
        println!("  faster by {faster:>45.2}x   goal >= {PEER_GOAL}x: {verdict}");
    }
    Ok(())
}

/// Returns when the only job of a run finished, according to its events.
fn job_finished(events: &Path) -> anyhow::Result<Timestamp> {
    let events = std::fs::read_to_string(events)?;
    let mut events = events.lines();
    let event = events.find(|line| line.contains(r#""type":"job_finished""#));
    let (_, rest) = event
        .and_then(|event| event.split_once(r#""at":""#))
        .context("there is a job_finished")?;
    let (at, _) = rest.split_once('"').context("it has a time")?;
    Ok(at.parse()?)
}
