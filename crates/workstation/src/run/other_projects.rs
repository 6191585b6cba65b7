//! What jobs expect of other projects, left out on request.

use crate::remote::{Outside, RemoteError};
use crate::settings::SettingsError;
use pipeline::context::{Phase, PipelineContext};
use pipeline::create::{Creation, Layers};
use serde_json::Value;
use std::sync::Arc;

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
    let settings = match outside.settings() {
        Ok(settings) => settings,
        Err(RemoteError::Settings(error)) => return Err(error),
        // Any other error is about the GitLab server.
        Err(_) => Arc::default(),
    };
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
