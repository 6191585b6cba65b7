use super::Checker;
use crate::config::{Environment, Job};
use executor_core::job::EnvironmentAction;

const CODE: &str = "invalid-on-stop";

impl<'c> Checker<'c> {
    /// Checks the job that stops the environment of a job (`environment:on_stop`).
    pub(super) fn check_on_stop(&mut self, job: &'c Job) {
        let Some(environment) = job.kept.environment.as_deref() else {
            return;
        };
        let Some(name) = environment.definition.on_stop.as_deref() else {
            return;
        };
        let span = environment.on_stop_span.unwrap_or(job.span);
        let Some(other) = self.expansion.find(name) else {
            let help = self.advise_of_job(job, name, span);
            let message = format!("{} job: on_stop job `{name}` is not defined", job.name);
            self.report(CODE, message, span, help);
            return;
        };
        if let Some((words, help)) = problem(name, environment, other) {
            let message = format!("{} job: {words}", job.name);
            self.report(CODE, message, span, Some(help));
        }
    }
}

/// Returns the problem with the job that stops an environment, and help.
fn problem(name: &str, environment: &Environment, other: &Job) -> Option<(String, String)> {
    let own = &environment.definition.name;
    let Some(stopped) = &other.kept.environment else {
        let help = format!("give `{name}` the same: `environment: {{name: {own}, action: stop}}`");
        let words = format!("on_stop job `{name}` does not have an environment");
        return Some((words, help));
    };
    let stopped = &stopped.definition;
    if stopped.name != *own {
        let words = format!(
            "on_stop job `{name}` has a different environment: `{}`, not `{own}`",
            stopped.name
        );
        return Some((words, "both names must be identical".to_owned()));
    }
    if stopped.action != Some(EnvironmentAction::Stop) {
        let help = format!("add `action: stop` to the environment of `{name}`");
        let words = format!("on_stop job `{name}` needs to have the action `stop`");
        return Some((words, help));
    }
    None
}
