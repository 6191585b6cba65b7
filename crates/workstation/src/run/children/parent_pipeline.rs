use super::control::Control;
use super::pipeline_tree::PipelineTree;
use super::read_pipeline::ReadPipeline;
use super::refusal::{Refusal, note};
use crate::history::ContinuedRun;
use crate::history::state::{PipelineDir, ProjectState};
use crate::project::local_project::LocalProject;
use crate::run::environments;
use async_trait::async_trait;
use executor_core::job::Job;
use executor_core::{BuildError, Cancellation};
use job_runner::{Sources, StoredArtifacts};
use pipeline::Plan;
use scheduler::{Bridge, Downstream, DownstreamPipeline};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// Starts the pipelines of one pipeline's jobs on this machine.
#[derive(Debug, Clone)]
pub(crate) struct LocalDownstream(pub(super) Arc<ParentPipeline>);

/// A pipeline whose jobs start others.
#[derive(Debug)]
pub(super) struct ParentPipeline {
    pub(super) pipeline_tree: Arc<PipelineTree>,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) state: ProjectState,
    pub(super) sources: Sources,
    /// The directory of the pipeline.
    pub(super) path: PathBuf,
    /// The artifacts of the pipelines above, the nearest first.
    pub(super) above: Vec<StoredArtifacts>,
    /// Serves control requests; those of a run's first pipeline are served by the run.
    pub(super) _control: Option<Control>,
    /// Locked while the pipeline runs; that of a run's first pipeline is locked by the run.
    pub(super) _directory: Option<PipelineDir>,
    /// The origins of itself and of the pipelines above it, without child pipelines.
    pub(super) ancestry: Vec<Origin>,
}

/// A pipeline that can be started.
pub(super) struct CreatedPipeline {
    pub(super) plan: Plan,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) state: ProjectState,
    pub(super) sources: Sources,
    pub(super) directory: PipelineDir,
    /// The earlier run of it that is continued.
    pub(super) earlier: Option<ContinuedRun>,
    /// The project's path, for a pipeline of another project.
    pub(super) other_project: Option<Arc<str>>,
    /// The artifacts of the pipelines above that its jobs may fetch.
    pub(super) above: Vec<StoredArtifacts>,
    pub(super) ancestry: Vec<Origin>,
}

/// What pipelines that start each other in a circle have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    root: PathBuf,
    ref_name: String,
    source: String,
}

impl Origin {
    pub(super) fn new(project: &LocalProject, plan: &Plan) -> Self {
        let context = plan.context();
        Self {
            root: project.root().to_owned(),
            ref_name: context.commit.ref_name.clone(),
            source: context.source.clone(),
        }
    }
}

impl LocalDownstream {
    /// Returns what starts the pipelines of a run's first pipeline.
    pub(crate) fn new(
        pipeline_tree: Arc<PipelineTree>,
        read: Arc<ReadPipeline>,
        state: ProjectState,
        sources: Sources,
        path: PathBuf,
        plan: &Plan,
    ) -> Self {
        let ancestry = vec![Origin::new(read.project(), plan)];
        Self(Arc::new(ParentPipeline {
            pipeline_tree,
            read,
            state,
            sources,
            path,
            above: Vec::new(),
            _control: None,
            _directory: None,
            ancestry,
        }))
    }
}

#[async_trait]
impl Downstream for LocalDownstream {
    async fn create(
        &self,
        bridge: Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError> {
        let parent = Arc::clone(&self.0);
        let stop = cancellation.clone();
        // Off the async threads: it reads files, starts git and sends requests.
        let created = tokio::task::spawn_blocking(move || parent.create_and_start(&bridge, &stop));
        tokio::select! {
            created = created => created.unwrap_or_else(|panic| {
                Err(BuildError::system("pipeline", "create the downstream pipeline", panic))
            }),
            cause = cancellation.canceled() => Err(cause.into()),
        }
    }

    async fn succeeded(&self, job: &Arc<Job>) {
        environments::note(&self.0.state.environments(), job, &[]).await;
    }
}

impl ParentPipeline {
    fn create_and_start(
        &self,
        bridge: &Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError> {
        let created = self.create(bridge, cancellation);
        let started = created.and_then(|created| self.start(bridge, created));
        let started = started.map_err(|refusal| refusal.into_error(bridge))?;
        let project = started.parent.project.as_deref();
        let project = project.map_or_else(String::new, |project| format!(" of {project}"));
        let id = started.plan.id();
        note(bridge, &format!("starts the pipeline {id}{project}"));
        Ok(started)
    }

    fn create(
        &self,
        bridge: &Bridge,
        cancellation: &Cancellation,
    ) -> Result<CreatedPipeline, Refusal> {
        self.pipeline_tree.admit()?;
        let definition = bridge.job.definition.as_deref();
        let trigger = definition.and_then(|definition| definition.trigger.as_deref());
        let trigger = trigger.unwrap_or(&Value::Null);
        match trigger.get("project") {
            Some(Value::String(path)) => self.other_project(bridge, path, trigger, cancellation),
            _ => self.child(bridge, cancellation),
        }
    }
}
