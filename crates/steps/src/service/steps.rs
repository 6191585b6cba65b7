//! Runs the steps of a request in order, until one fails.

use super::functions::{Engine, StepSettings};
use super::payload::{ScriptStep, Steps};
use super::prepare::Plan;
use super::request::Request;
use super::run_process::{run_process, write_script};
use super::state::Failure;
use process::{Command, ProcessTree, Timing};

/// Runs all steps; returns why they did not succeed.
pub(crate) async fn run(request: &Request, plan: Plan, tree: &ProcessTree) -> Option<Failure> {
    let Plan {
        steps,
        env,
        vars,
        timing,
        quiet,
        ..
    } = plan;
    let steps = match steps {
        Steps::Scripts(steps) => steps,
        Steps::Function(function) => {
            let setting = StepSettings {
                env,
                vars,
                timing,
                quiet,
            };
            return Engine::new(request, tree, setting).run(&function).await;
        }
    };
    let command = Command::new(
        request
            .command
            .first()
            .map(String::as_str)
            .unwrap_or_default(),
    )
    .args(request.command.iter().skip(1))
    .envs(env)
    .current_dir(&request.work_dir);
    for (number, step) in steps.into_iter().enumerate() {
        if request.cancellation.is_canceled() {
            return Some(Failure::stopped(&request.cancellation));
        }
        request.update(|state| state.step_started(number));
        if !quiet {
            request.log_line(&format!("Running step \"{}\"", step.name));
        }
        let failure = run_step(request, number, step, &command, tree, &timing)
            .await
            .err();
        request.update(|state| state.step_ended(number, failure.as_ref()));
        if failure.is_some() {
            return failure;
        }
    }
    None
}

async fn run_step(
    request: &Request,
    number: usize,
    step: ScriptStep,
    command: &Command,
    tree: &ProcessTree,
    timing: &Timing,
) -> Result<(), Failure> {
    let path = request.directory.script(number);
    write_script(&path, &step.script)?;
    let command = command.clone().arg(&path);
    // Frees the memory; the script is in its file.
    drop(step.script);
    let ran = run_process(request, &command, tree, timing).await;
    let _ = std::fs::remove_file(&path);
    ran
}
