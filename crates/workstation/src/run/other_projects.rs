//! What jobs expect of other projects.

use crate::remote::{Outside, RemoteError};
use crate::settings::{Settings, SettingsError};
use pipeline::context::{Phase, PipelineContext};
use pipeline::create::{Creation, Layers};
use pipeline::parity;
use pipeline::resolve::ResolvedPipeline;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};

/// What was left out of a pipeline because it belongs to other projects.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// The names of jobs that would start the pipeline of an unknown project.
    pub(crate) jobs: Vec<String>,
    /// One warning for each job that changed or is left out.
    pub(crate) warnings: Vec<String>,
}

/// Removes `needs:project` from jobs, and finds the jobs whose `trigger:project` the user's settings do not name.
pub(crate) fn leave_out(
    creation: &mut Creation,
    context: &PipelineContext,
    outside: &Outside,
) -> Result<LeftOut, SettingsError> {
    let settings = settings_of(outside)?;
    let mut left_out = LeftOut::default();
    let predefined = context.predefined(Phase::Job);
    let global = Arc::clone(&creation.global_variables);
    let of_rule = Arc::clone(&creation.workflow_variables);
    let layers = Layers::new(context, &predefined, &global, &of_rule);
    for job in creation.jobs.iter_mut().filter(|job| job.is_included) {
        let name = job.name().to_owned();
        let definition = &job.definition;
        let needs = definition.needs_cross.iter().flatten();
        let projects = needs.filter_map(|need| need.project.as_ref());
        let projects: Vec<String> = projects.map(|project| format!("`{project}`")).collect();
        if !projects.is_empty() {
            let definition = Arc::make_mut(&mut job.definition);
            let needs = definition.needs_cross.iter_mut();
            needs.for_each(|needs| needs.retain(|need| need.project.is_none()));
            left_out.warnings.push(format!(
                "`{name}` runs without the artifacts of {} that it needs",
                projects.join(", ")
            ));
            continue;
        }
        let trigger = definition.trigger.as_deref();
        let project = trigger.and_then(|trigger| trigger.get("project"));
        let project = project.and_then(Value::as_str).map(|project| {
            let expanded = Creation::job_layers(job, &layers).expand(project);
            expanded.unwrap_or_else(|_| project.to_owned())
        });
        if let Some(project) = project
            && settings.project(&project).is_none()
        {
            left_out.warnings.push(format!(
                "`{name}` is left out: the settings do not say where `{project}` is checked out"
            ));
            left_out.jobs.push(name);
        }
    }
    Ok(left_out)
}

/// Warns of jobs whose `trigger:project` the user's settings do not name: they fail. A name with a variable is not
/// checked.
pub(crate) fn check_triggers(
    resolved: &ResolvedPipeline,
    outside: &Outside,
    diagnostics: &mut Diagnostics,
) {
    let Ok(settings) = settings_of(outside) else {
        return;
    };
    let mut reported = HashSet::new();
    for job in &resolved.jobs {
        let trigger = job.definition.trigger.as_deref();
        let project = trigger.and_then(|trigger| trigger.get("project"));
        let Some(project) = project.and_then(Value::as_str) else {
            continue;
        };
        let is_known = project.contains('$') || settings.project(project).is_some();
        if !is_known && reported.insert(&job.name_in_file) {
            let tree = resolved.tree.as_deref();
            let written = tree.and_then(|tree| tree.get(&job.name_in_file)?.get("trigger"));
            let place = written.map(|written| written.get("project").unwrap_or(written).span);
            let (message, help) = unknown_project(project, &settings);
            let message = format!("`trigger:project`: the job fails: {message}");
            diagnostics.push(Diagnostic {
                span: place.or(job.span),
                help: Some(help),
                ..Diagnostic::warning(parity::CODE, message)
            });
        }
    }
}

/// Returns why the pipeline of a project cannot run here, and what the user can do.
pub(super) fn unknown_project(path: &str, settings: &Settings) -> (String, String) {
    let file = settings.file.as_ref().or(settings.absent.as_ref());
    let file = file.map_or_else(|| "config.toml".to_owned(), |it| it.display().to_string());
    let message = format!("the settings do not say where `{path}` is checked out");
    let help = format!(
        "add where it is checked out to {file}: `\"{path}\" = \"/path/of/the/checkout\"` below [projects]"
    );
    (message, help)
}

fn settings_of(outside: &Outside) -> Result<Arc<Settings>, SettingsError> {
    match outside.settings() {
        Err(RemoteError::Settings(error)) => Err(error),
        // Any other error is about the GitLab server.
        settings => Ok(settings.unwrap_or_default()),
    }
}
