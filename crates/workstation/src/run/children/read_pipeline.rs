use crate::project::includes::LocalIncludes;
use crate::project::local_project::LocalProject;
use crate::project::pipeline_options::PipelineOptions;
use crate::project::project_context::ProjectContext;
use crate::remote::{Outside, ProjectIncludes};
use crate::run::artifacts::PipelineArtifacts;
use pipeline::context::PipelineContext;
use pipeline::{LoadOptions, Pipeline};
use std::sync::Arc;
use yaml::diagnostic::Checked;
use yaml::source::SourceMap;

/// A pipeline as it was read, with what reading its child pipelines needs.
#[derive(Debug)]
pub(crate) struct ReadPipeline {
    pub(crate) loaded: Pipeline,
    /// Its texts.
    pub(crate) sources: SourceMap,
    project: LocalProject,
    pub(crate) project_context: Arc<ProjectContext>,
    pub(crate) outside: Arc<Outside>,
    /// The options that all pipelines of a run share; those of the first one alone are left out.
    pub(crate) options: PipelineOptions,
}

impl ReadPipeline {
    /// Returns a pipeline that was read from the working tree of `project`; `sources` are its texts.
    pub(crate) fn new(
        loaded: Pipeline,
        sources: &SourceMap,
        project: &LocalProject,
        project_context: ProjectContext,
        outside: Arc<Outside>,
        options: &PipelineOptions,
    ) -> Self {
        Self {
            loaded,
            sources: sources.clone(),
            project: project.clone(),
            project_context: Arc::new(project_context),
            outside,
            options: PipelineOptions {
                dialect: options.dialect,
                home: options.home.clone(),
                remote: options.remote.clone(),
                ..PipelineOptions::default()
            },
        }
    }

    /// Returns the project whose working tree it was read from.
    pub(crate) fn project(&self) -> &LocalProject {
        &self.project
    }

    /// Reads the child pipeline of a job, by its name in the file, in the child's context and with the
    /// artifacts of this pipeline. `None` if the job starts no child.
    pub(super) fn child(
        &self,
        job: &str,
        context: &PipelineContext,
        artifacts: PipelineArtifacts,
    ) -> Option<Checked<Self>> {
        let repository = self.project_context.repository();
        let tree = LocalIncludes::new(self.project.root(), Arc::clone(repository));
        let tree = tree.with_artifacts(artifacts);
        let includes = ProjectIncludes::new(tree, &self.outside, &self.project_context);
        let options = LoadOptions {
            dialect: self.options.dialect,
            variables: context.pre_pipeline_variables(),
            includes: &includes,
            repository: &**repository,
            ..LoadOptions::default()
        };
        let checked = self.loaded.child(job, &self.sources, &options)?;
        Some(checked.and_then(|loaded, diagnostics| {
            Some(Self {
                loaded,
                sources: diagnostics.sources().clone(),
                project: self.project.clone(),
                project_context: Arc::clone(&self.project_context),
                outside: Arc::clone(&self.outside),
                options: self.options.clone(),
            })
        }))
    }
}
