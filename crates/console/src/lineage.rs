//! Names for the jobs of pipelines that jobs of others started.

use executor_core::PipelineId;
use scheduler::event::{JobNode, ParentJob};
use std::collections::HashMap;
use std::sync::Arc;

/// What stands between the job that started a pipeline and a job of that.
pub const BELOW: &str = " > ";

/// The pipelines of a run by their numbers, and what their jobs are called.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    /// The pipelines that others started; the first one is none of them.
    children: HashMap<PipelineId, HashMap<Arc<str>, Arc<str>>>,
}

impl Lineage {
    /// Returns whether jobs of this pipeline have the names that the file gives them.
    pub(crate) fn is_first(&self, pipeline: PipelineId) -> bool {
        !self.children.contains_key(&pipeline)
    }

    /// Returns what a job is called among those of all pipelines: `deploy > build`.
    pub(crate) fn name(&self, pipeline: PipelineId, job: &Arc<str>) -> Arc<str> {
        let names = self.children.get(&pipeline);
        let name = names.and_then(|names| names.get(job));
        Arc::clone(name.unwrap_or(job))
    }

    /// Adds a pipeline that a job started, and returns its jobs with the names they have here.
    pub(crate) fn add(
        &mut self,
        pipeline: PipelineId,
        parent: &ParentJob,
        graph: &[JobNode],
    ) -> Vec<JobNode> {
        let above = self.name(parent.pipeline, &parent.job);
        let qualified = |job: &Arc<str>| -> Arc<str> { format!("{above}{BELOW}{job}").into() };
        let names = graph
            .iter()
            .map(|node| (Arc::clone(&node.job), qualified(&node.job)));
        self.children.insert(pipeline, names.collect());
        let nodes = graph.iter().map(|node| JobNode {
            job: self.name(pipeline, &node.job),
            stage: Arc::clone(&node.stage),
            needs: node.needs.as_ref().map(|needs| {
                let needs = needs.iter().map(|job| self.name(pipeline, job));
                needs.collect()
            }),
        });
        nodes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::node;

    #[test]
    fn jobs_are_called_after_what_started_their_pipelines() {
        let parent = |pipeline, job: &str| ParentJob {
            pipeline: PipelineId(pipeline),
            job: job.into(),
            project: None,
        };
        let mut lineage = Lineage::default();
        let graph = [
            node("build", "a", None),
            node("ship", "b", Some(&["build"])),
        ];
        let child = lineage.add(PipelineId(2), &parent(1, "deploy"), &graph);
        assert_eq!(&*child[1].job, "deploy > ship");
        assert_eq!(child[1].needs, Some(vec!["deploy > build".into()]));
        let grandchild = lineage.add(PipelineId(3), &parent(2, "ship"), &graph);
        assert_eq!(&*grandchild[0].job, "deploy > ship > build");
        assert_eq!(&*lineage.name(PipelineId(1), &"build".into()), "build");
        assert_eq!(
            &*lineage.name(PipelineId(2), &"build".into()),
            "deploy > build"
        );
        assert!(lineage.is_first(PipelineId(1)));
        assert!(!lineage.is_first(PipelineId(3)));
    }
}
