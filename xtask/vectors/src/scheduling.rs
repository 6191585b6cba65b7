//! The kind `scheduling`: a file, and where everything stands after each of a few events.

use super::compare::holds;
use super::creation;
use pipeline::plan::Plan;
use scheduler::{Finish, Machine};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub(super) struct Input {
    yaml: String,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    event: Event,
    job: Option<String>,
    expect: Value,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Start,
    Run,
    Succeed,
    Fail,
    Play,
}

/// Returns where all stands in the end; when a step before was wrong, how it stood then, and which
/// step that was.
pub(super) fn result(input: &Input, expect: &Value) -> Value {
    let plan = match creation::plan(&input.yaml) {
        Ok(plan) => plan,
        Err(error) => return json!({"error": error}),
    };
    let mut machine = Machine::new(&plan);
    for (number, step) in (1..).zip(&input.steps) {
        if let Err(error) = feed(&mut machine, &plan, step) {
            return json!({"error": error, "step": number});
        }
        let is = state(&machine, &plan, &step.expect);
        if !holds(&step.expect, &is) {
            return json!({"step": number, "at_step": is});
        }
    }
    state(&machine, &plan, expect)
}

fn feed(machine: &mut Machine, plan: &Plan, step: &Step) -> Result<(), String> {
    let job = || {
        let name = step.job.as_deref().unwrap_or_default();
        let at = plan.position(name);
        at.ok_or_else(|| format!("there is no job {name:?}"))
    };
    match step.event {
        Event::Start => {
            machine.start();
        }
        Event::Run => {
            machine.started(job()?);
        }
        Event::Succeed => {
            machine.finished(job()?, Finish::Success);
        }
        Event::Fail => {
            let finish = Finish::Failed {
                exit_code: Some(1),
                reason: Some("script_failure"),
            };
            machine.finished(job()?, finish);
        }
        Event::Play => {
            machine.play(job()?);
        }
    }
    Ok(())
}

/// Returns where the jobs and stages stand; of stages those that `like` has, because a file has some
/// it says nothing of.
fn state(machine: &Machine, plan: &Plan, like: &Value) -> Value {
    let jobs = plan.jobs().iter().enumerate();
    let jobs = jobs.map(|(at, job)| (job.name().to_owned(), json!(machine.status(at))));
    let stages = plan.stages().iter().enumerate();
    let stages = stages.filter(|(_, name)| like["stages"].get(name).is_some());
    let stages = stages.map(|(at, name)| (name.clone(), json!(machine.stage_status(at))));
    json!({
        "jobs": jobs.collect::<Map<_, _>>(),
        "stages": stages.collect::<Map<_, _>>(),
        "pipeline": machine.pipeline_status(),
    })
}
