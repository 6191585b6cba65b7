//! The kind `scheduling`: a file, and where everything stands after each of a few events.

use super::of_kind;
use crate::fake::plan;
use pipeline::scheduler::{Finish, Machine};
use pipeline::{Plan, Status};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Vector {
    id: String,
    yaml: String,
    steps: Vec<Step>,
    expect: State,
}

#[derive(Deserialize)]
struct Step {
    event: Event,
    job: Option<String>,
    expect: State,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Start,
    Run,
    Succeed,
    Fail,
    Play,
}

#[derive(Debug, PartialEq, Deserialize)]
struct State {
    jobs: BTreeMap<String, Status>,
    stages: BTreeMap<String, Status>,
    pipeline: Status,
}

#[test]
fn every_scheduling_vector_holds_after_each_of_its_steps() {
    // R-GLCI-118 R-GLCI-119 R-GLCI-122
    let vectors: Vec<Vector> = of_kind("scheduling");
    assert_eq!(vectors.len(), 23);
    let broken: Vec<String> = vectors
        .iter()
        .filter_map(|vector| check(vector).err())
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n\n"));
}

/// Returns what differs at the first step after which something does.
fn check(vector: &Vector) -> Result<(), String> {
    let plan = plan(&vector.yaml);
    let mut machine = Machine::new(&plan);
    for (number, step) in (1..).zip(&vector.steps) {
        feed(&mut machine, &plan, step);
        let is = state(&machine, &plan, &step.expect);
        if is != step.expect {
            let Step { event, job, expect } = step;
            let job = job.as_deref().unwrap_or_default();
            let id = &vector.id;
            return Err(format!(
                "{id}, step {number} ({event:?} {job}):\n  is     {is:?}\n  expect {expect:?}"
            ));
        }
    }
    let last = vector.steps.last().map(|step| &step.expect);
    assert_eq!(last, Some(&vector.expect), "{}", vector.id);
    Ok(())
}

fn feed(machine: &mut Machine, plan: &Plan, step: &Step) {
    let job = || plan.position(step.job.as_deref().unwrap()).unwrap();
    match step.event {
        Event::Start => machine.start(),
        Event::Run => machine.started(job()),
        Event::Succeed => machine.finished(job(), Finish::Success),
        Event::Fail => {
            let finish = Finish::Failed {
                exit_code: Some(1),
                reason: Some("script_failure"),
            };
            machine.finished(job(), finish)
        }
        Event::Play => machine.play(job()),
    };
}

/// Returns where the jobs and stages stand that `like` has; a file has stages it says nothing of.
fn state(machine: &Machine, plan: &Plan, like: &State) -> State {
    let jobs = plan.jobs().iter().enumerate();
    let stages = plan.stages().iter().enumerate();
    State {
        jobs: jobs
            .map(|(at, job)| (job.name().to_owned(), machine.status(at)))
            .collect(),
        stages: stages
            .filter(|(_, name)| like.stages.contains_key(*name))
            .map(|(at, name)| (name.clone(), machine.stage_status(at)))
            .collect(),
        pipeline: machine.pipeline_status(),
    }
}
