use super::expand::Expansion;
use crate::config::{Config, Environment, Job};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::suggest::did_you_mean;
use executor_core::job::EnvironmentAction;

/// Checks the jobs that stop environments (`environment:on_stop`).
pub(super) fn check(config: &Config, expansion: &Expansion<'_>, diagnostics: &mut Diagnostics) {
    for job in &config.jobs {
        if let Some(environment) = &job.kept.environment
            && let Some((words, help)) = problem(job, environment, config, expansion)
        {
            let message = format!("{} job: {words}", job.name);
            let span = environment.on_stop_span.unwrap_or(job.span);
            let error = Diagnostic::error("invalid-on-stop", message).at(span);
            diagnostics.push(error.with_help(help));
        }
    }
}

/// Returns what is wrong with the job that stops an environment, and what helps.
fn problem(
    job: &Job,
    environment: &Environment,
    config: &Config,
    expansion: &Expansion<'_>,
) -> Option<(String, Option<String>)> {
    let definition = &environment.definition;
    let name = definition.on_stop.as_deref()?;
    let Some(other) = expansion.find(name) else {
        let names = config.jobs.iter().map(|job| &*job.name);
        let help = did_you_mean(name, names.filter(|&known| known != &*job.name));
        return Some((format!("on_stop job `{name}` is not defined"), help));
    };
    let own = &definition.name;
    let Some(stopped) = &other.kept.environment else {
        let help = format!("give `{name}` the same: `environment: {{name: {own}, action: stop}}`");
        let words = format!("on_stop job `{name}` does not have an environment");
        return Some((words, Some(help)));
    };
    let stopped = &stopped.definition;
    if stopped.name != *own {
        let words = format!(
            "on_stop job `{name}` has a different environment: `{}`, not `{own}`",
            stopped.name
        );
        return Some((
            words,
            Some("both names have to be written alike".to_owned()),
        ));
    }
    if stopped.action != Some(EnvironmentAction::Stop) {
        let help = format!("add `action: stop` to the environment of `{name}`");
        let words = format!("on_stop job `{name}` needs to have the action `stop`");
        return Some((words, Some(help)));
    }
    None
}
