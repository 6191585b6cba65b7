use super::control::Control;
use super::pipeline_tree::PipelineTree;
use super::read_pipeline::ReadPipeline;
use super::refusal::{Refusal, say};
use crate::history::Earlier;
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
pub(crate) struct LocalDownstream(pub(super) Arc<Upper>);

/// The pipeline whose jobs start others.
#[derive(Debug)]
pub(super) struct Upper {
    pub(super) pipeline_tree: Arc<PipelineTree>,
    pub(super) project: LocalProject,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) state: ProjectState,
    /// Where its jobs take their files from.
    pub(super) sources: Sources,
    /// The directory of the pipeline.
    pub(super) path: PathBuf,
    /// What the jobs of the pipelines above left, the next one first.
    pub(super) above: Vec<StoredArtifacts>,
    /// Tells it what to do; the first one is told by the run.
    pub(super) _control: Option<Control>,
    /// Held as long as the pipeline runs; that of the first one belongs to the run.
    pub(super) _directory: Option<PipelineDir>,
    /// The pipelines above it and itself, children left out: where each is, for which ref, and from
    /// which source.
    pub(super) ancestry: Vec<(PathBuf, String, String)>,
}

/// A pipeline that can be started.
pub(super) struct Created {
    pub(super) plan: Plan,
    pub(super) project: LocalProject,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) state: ProjectState,
    pub(super) sources: Sources,
    pub(super) directory: PipelineDir,
    /// What happened in it before its run was killed or failed.
    pub(super) earlier: Option<Earlier>,
    /// The project's path, if it is another one.
    pub(super) other: Option<Arc<str>>,
    /// What the jobs of the pipelines above left that its own may fetch.
    pub(super) above: Vec<StoredArtifacts>,
    pub(super) ancestry: Vec<(PathBuf, String, String)>,
}

impl LocalDownstream {
    /// Returns what starts the pipelines of a run's first pipeline.
    pub(crate) fn new(
        pipeline_tree: Arc<PipelineTree>,
        project: LocalProject,
        read: Arc<ReadPipeline>,
        state: ProjectState,
        sources: Sources,
        path: PathBuf,
        plan: &Plan,
    ) -> Self {
        let ancestry = vec![origin_of(&project, plan)];
        Self(Arc::new(Upper {
            pipeline_tree,
            project,
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

/// Returns what tells a pipeline of a project from others in a circle.
pub(super) fn origin_of(project: &LocalProject, plan: &Plan) -> (PathBuf, String, String) {
    let context = plan.context();
    let reference = context.commit.ref_name.clone();
    (project.root().to_owned(), reference, context.source.clone())
}

#[async_trait]
impl Downstream for LocalDownstream {
    async fn create(
        &self,
        bridge: Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError> {
        let upper = Arc::clone(&self.0);
        let stop = cancellation.clone();
        // Files are read, git is asked, and servers too.
        let created = tokio::task::spawn_blocking(move || upper.start(&bridge, &stop));
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

impl Upper {
    fn start(
        &self,
        bridge: &Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError> {
        let observer = &*bridge.observer;
        let created = self.create(bridge, cancellation);
        let created = created.map_err(|refusal| refusal.tell(observer))?;
        let started = self.begin(bridge, created);
        let started = started.map_err(|refusal| refusal.tell(observer))?;
        let project = started.parent.project.as_deref();
        let project = project.map_or_else(String::new, |project| format!(" of {project}"));
        say(
            observer,
            &format!("starts the pipeline {}{project}", started.plan.id()),
        );
        Ok(started)
    }

    fn create(&self, bridge: &Bridge, cancellation: &Cancellation) -> Result<Created, Refusal> {
        self.pipeline_tree.admit()?;
        let definition = bridge.job.definition.as_deref();
        let trigger = definition.and_then(|definition| definition.trigger.as_deref());
        match trigger.and_then(|trigger| trigger.get("project")) {
            Some(Value::String(project)) => self.other_project(
                bridge,
                project,
                trigger.unwrap_or(&Value::Null),
                cancellation,
            ),
            _ => self.child(bridge, cancellation),
        }
    }
}
