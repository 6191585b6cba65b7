//! The keywords in which GitLab itself replaces variables before it hands a job out. All others are
//! left to the runner, and what a script says is never changed.

use crate::context::{expand, expand_existing};
use crate::create::JobLayers;
use executor_core::job::{JobDefinition, OneOrMany, PagesDefinition};
use serde_json::Value;

/// The parts of `trigger` that name another pipeline.
const OF_TRIGGER: [&str; 2] = ["project", "branch"];

/// Returns the definition as it is when the job is handed out.
pub(super) fn definition(definition: &JobDefinition, sight: &JobLayers<'_>) -> JobDefinition {
    let mut definition = definition.clone();
    let nested = |text: &mut String| {
        // What cannot be expanded stopped the creation of the pipeline, or stays.
        if let Ok(expanded) = sight.expand(text) {
            *text = expanded;
        }
    };
    let value = |name: &str| sight.find(name).map(|found| found.value);
    let plain = |text: &mut String| *text = expand(text, value).into_owned();

    if let Some(environment) = &mut definition.environment {
        if let Some(name) = sight.environment() {
            environment.name = name;
        }
        environment.auto_stop_in.iter_mut().for_each(plain);
        let cluster = environment.kubernetes.iter_mut();
        cluster
            .filter_map(|cluster| cluster.namespace.as_mut())
            .for_each(plain);
    }
    definition.resource_group.iter_mut().for_each(nested);
    for tag in definition.tags.iter_mut().flatten() {
        *tag = expand_existing(tag, value).into_owned();
    }
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
    let elsewhere = definition.needs_cross.iter_mut().flatten();
    elsewhere
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
