//! The names that are expanded when a pipeline is created: tags for the runner, and tags and
//! environments for display.

use super::{CreatedJob, Creation, JobLayers, LayeredVariable, Layers};
use crate::context::expand_existing;
use crate::expression::MASKED;
use executor_core::job::JobDefinition;
use std::sync::Arc;

impl CreatedJob {
    /// Expands its tags, and sets its definition for display.
    pub(super) fn expand_names(&mut self, layers: &Layers<'_>) {
        let refers = |name: &String| name.contains(['$', '%']);
        let tags = self.definition.tags.iter().flatten();
        let environment = self.definition.environment.iter();
        let mut names = tags.chain(environment.map(|environment| &environment.name));
        if !names.any(refers) {
            self.shown = Arc::clone(&self.definition);
            return;
        }
        let job_layers = Creation::job_layers(self, layers);
        let mut definition = (*self.definition).clone();
        expand_tags(&mut definition, &job_layers, |variable| variable.value);
        let mut shown = (*self.definition).clone();
        expand_tags(&mut shown, &job_layers, shown_value);
        if let (Some(environment), Some(name)) =
            (&mut shown.environment, job_layers.shown_environment())
        {
            environment.name = name;
        }
        self.definition = Arc::new(definition);
        self.shown = Arc::new(shown);
    }
}

impl Creation {
    /// Returns the same as [`complete`](Self::complete) for display: its environment's name is
    /// expanded, and secrets in names are masked.
    pub fn shown(&self, job: &CreatedJob) -> JobDefinition {
        self.completed(job, &job.shown)
    }
}

/// Expands tags in one pass; references to unknown variables stay.
fn expand_tags(
    definition: &mut JobDefinition,
    job_layers: &JobLayers<'_>,
    value: for<'v> fn(LayeredVariable<'v>) -> &'v str,
) {
    for tag in definition.tags.iter_mut().flatten() {
        *tag = expand_existing(tag, |name| job_layers.find(name).map(value)).into_owned();
    }
}

fn shown_value(variable: LayeredVariable<'_>) -> &str {
    if variable.is_secret() {
        MASKED
    } else {
        variable.value
    }
}
