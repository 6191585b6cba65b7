use super::changed::Touched;
use super::{find_project, pipeline_options};
use crate::args::{ChangedArgs, ProjectArgs};
use crate::failure::Failure;
use crate::output::{diagnostics, notes, refusal};
use anyhow::anyhow;
use runwright::local::{LocalPipeline, LocalProject};
use runwright::pipeline::create::{CreatedJob, Creation};
use runwright::pipeline::did_you_mean;
use runwright::pipeline::explain::Explainer;

/// A valid pipeline file, and what becomes of it in the situation that was asked for.
pub(super) struct Situated {
    pub(super) pipeline: LocalPipeline,
    pub(super) creation: Creation,
    project: LocalProject,
}

impl Situated {
    /// Reads the pipeline that the arguments mean; nothing when it is invalid, which is told then.
    pub(super) fn read(args: &ProjectArgs) -> Result<Option<Self>, Failure> {
        let project = find_project(args)?;
        let checked = project.read(&pipeline_options(args)?)?;
        let pipeline = match checked.into_result() {
            Ok((read, warnings)) => {
                diagnostics(&warnings);
                read
            }
            Err(found) => {
                diagnostics(&found);
                return Ok(None);
            }
        };
        let creation = pipeline.create()?;
        notes(&pipeline.notes()?);
        Ok(Some(Self {
            pipeline,
            creation,
            project,
        }))
    }

    /// Returns the jobs that a change touches, if somebody asks for that.
    pub(super) fn touched(
        &self,
        asked: &ChangedArgs,
        args: &ProjectArgs,
    ) -> Result<Option<Touched>, Failure> {
        Touched::find(asked, args, &self.project, &self.pipeline, &self.creation)
    }

    /// Returns the jobs that a name means: one, or all that `parallel` makes of it.
    pub(super) fn instances(&self, name: &str) -> Result<Vec<&CreatedJob>, Failure> {
        let creation = &self.creation;
        if let Some(job) = creation.job(name) {
            return Ok(vec![job]);
        }
        let is_meant = |job: &&CreatedJob| &*job.resolved.name_in_file == name;
        let all: Vec<_> = creation.jobs.iter().filter(is_meant).collect();
        if !all.is_empty() {
            return Ok(all);
        }
        let failure = Failure::usage(anyhow!("there is no job {name:?}"));
        let jobs = creation.jobs.iter();
        let names = jobs.flat_map(|job| [job.name(), &*job.resolved.name_in_file]);
        let help = did_you_mean(name, names);
        Err(failure
            .with_help(help.unwrap_or_else(|| "`runwright list --all` shows all jobs".to_owned())))
    }

    /// Returns what explains the jobs.
    pub(super) fn explainer(&self) -> Result<Explainer<'_>, Failure> {
        let pipeline = &self.pipeline;
        let (context, repository) = (pipeline.context()?, pipeline.repository()?);
        Ok(Explainer::new(
            pipeline.loaded(),
            &self.creation,
            context,
            repository,
        ))
    }

    /// Says on standard error why there is no pipeline, if there is none.
    pub(super) fn tell_refusal(&self) {
        if let Some(found) = &self.creation.refusal {
            refusal(found);
        }
    }
}
