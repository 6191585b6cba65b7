use super::MergedJob;
use crate::resolve::ResolvedPipeline;
use executor_core::job::{Need, SchedulingKind};
use std::collections::HashMap;
use std::sync::Arc;
use yaml::Node;
use yaml::source::FileId;

/// The needs of jobs as a server expanded them.
#[derive(Debug, Clone)]
pub(crate) struct ServerNeeds {
    by_name: HashMap<String, Vec<Need>>,
    /// The merged file.
    file: FileId,
}

impl ServerNeeds {
    /// Collects the needs that the server reported; `file` is the merged file.
    pub(crate) fn new(jobs: &[MergedJob], file: FileId) -> Self {
        let given = jobs.iter().filter_map(|job| {
            let needs = job.needs.clone()?;
            Some((job.name.clone(), needs))
        });
        Self {
            by_name: given.collect(),
            file,
        }
    }

    /// Sets the needs of the jobs, except for needs from an overlay, which is merged over the
    /// server's result. `tree` is the composed tree.
    pub(crate) fn apply(&self, resolved: &mut ResolvedPipeline, tree: &Node) {
        for job in &mut resolved.jobs {
            let Some(needs) = self.by_name.get(&job.definition.name) else {
                continue;
            };
            let written = tree.get(&job.name_in_file);
            let written = written.and_then(|written| written.get("needs"));
            // The server reports needs in other pipelines as no needs; the text has them.
            if written.is_some_and(|it| it.span.file != self.file || needs.is_empty()) {
                continue;
            }
            let definition = Arc::make_mut(&mut job.definition);
            definition.needs = Some(needs.clone());
            definition.scheduling = SchedulingKind::Dag;
        }
    }
}
