//! Expands variables in those keywords in which GitLab does so before it assigns a job. The runner
//! expands all others, and scripts are never changed.

use crate::context::expand;
use crate::create::JobLayers;
use executor_core::job::{JobDefinition, OneOrMany, PagesDefinition};
use serde_json::Value;

/// The keys of `trigger` that name another pipeline.
const OF_TRIGGER: [&str; 2] = ["project", "branch"];

/// Returns the definition as sent to a runner.
pub(super) fn definition(definition: &JobDefinition, job_layers: &JobLayers<'_>) -> JobDefinition {
    let mut definition = definition.clone();
    let nested = |text: &mut String| {
        // A failed expansion either prevented the pipeline's creation or leaves the text unchanged.
        if let Ok(expanded) = job_layers.expand(text) {
            *text = expanded;
        }
    };
    let value = |name: &str| job_layers.find(name).map(|found| found.value);
    let plain = |text: &mut String| *text = expand(text, value).into_owned();

    if let Some(environment) = &mut definition.environment {
        if let Some(name) = job_layers.environment() {
            environment.name = name;
        }
        environment.auto_stop_in.iter_mut().for_each(plain);
        let cluster = environment.kubernetes.iter_mut();
        cluster
            .filter_map(|cluster| cluster.namespace.as_mut())
            .for_each(plain);
    }
    definition.resource_group.iter_mut().for_each(nested);
    for token in definition
        .id_tokens
        .iter_mut()
        .flat_map(|tokens| tokens.values_mut())
    {
        match &mut token.aud {
            OneOrMany::One(audience) => plain(audience),
            OneOrMany::Many(audiences) => audiences.iter_mut().for_each(plain),
        }
    }
    if let Some(PagesDefinition::Settings(pages)) = definition.pages.as_deref_mut() {
        pages.path_prefix.iter_mut().for_each(plain);
    }
    let cross_needs = definition.needs_cross.iter_mut().flatten();
    cross_needs
        .filter_map(|need| need.pipeline.as_mut())
        .for_each(plain);
    if let Some(trigger) = &mut definition.trigger {
        for key in OF_TRIGGER {
            if let Some(Value::String(text)) = trigger.get_mut(key) {
                plain(text);
            }
        }
    }
    definition
}
