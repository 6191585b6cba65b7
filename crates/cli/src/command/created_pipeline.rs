use super::no_pipeline::NoPipeline;
use super::pipeline_options::{find_project, pipeline_options};
use super::rerun_command::shell_of_project;
use super::touched::Touched;
use crate::args::{ChangedArgs, ProjectArgs};
use crate::failure::Failure;
use crate::parsed_args::settings;
use console::{print_diagnostics, print_notes, print_skipped};
use includes::FetchPolicy;
use pipeline::create::{CreatedJob, Creation};
use pipeline::selector;
use pipeline::{Diagnostics, Plan, ResolvedPipeline, Selection};
use pipeline_insight::explain::Explainer;
use std::collections::HashSet;
use std::path::Path;
use workstation::{
    LocalError, LocalPipeline, LocalProject, PipelineOptions, RemoteOptions, SettingValue,
};

/// Returns the names of the jobs in the pipeline file of a directory, as [`names_in`].
pub(crate) fn job_names(directory: &Path, file: Option<&Path>) -> Vec<String> {
    names_in(directory, file, |pipeline| {
        let jobs = pipeline.jobs.iter();
        jobs.map(|job| job.name_in_file.to_string()).collect()
    })
}

/// Returns the names that `take` finds in the pipeline file of a directory, each once, without requests and messages; none
/// if the file is invalid.
pub(crate) fn names_in(
    directory: &Path,
    file: Option<&Path>,
    take: impl Fn(&ResolvedPipeline) -> Vec<String>,
) -> Vec<String> {
    let read = || -> Result<Vec<String>, Failure> {
        let settings = settings(directory)?;
        let options = settings.options(&|_| false);
        let set = options.iter().find_map(|it| match &it.value {
            SettingValue::Text(text) if it.key.name == "file" => Some(Path::new(text)),
            _ => None,
        });
        let project = LocalProject::find(directory, file.or(set))?;
        let remote = RemoteOptions {
            fetching: FetchPolicy::Offline,
            ..RemoteOptions::default()
        };
        let checked = project.read(&PipelineOptions {
            remote,
            ..PipelineOptions::default()
        })?;
        let Ok((pipeline, _)) = checked.into_result() else {
            return Ok(vec![]);
        };
        let mut names = take(pipeline.resolved());
        // The instances of a `parallel` job follow one another.
        names.dedup();
        Ok(names)
    };
    read().unwrap_or_default()
}

/// A valid pipeline file, and the pipeline created from it in the situation of the arguments.
pub(super) struct CreatedPipeline {
    pub(super) pipeline: LocalPipeline,
    pub(super) creation: Creation,
    pub(super) project: LocalProject,
    /// The arguments.
    pub(super) args: ProjectArgs,
}

impl CreatedPipeline {
    /// Reads the pipeline of the arguments; `None` if it is invalid, after printing why.
    pub(super) fn read(args: &ProjectArgs) -> Result<Option<Self>, Failure> {
        let Some((created, warnings)) = Self::read_with_warnings(args)? else {
            return Ok(None);
        };
        print_diagnostics(&warnings);
        print_notes(created.pipeline.notes()?);
        Ok(Some(created))
    }

    /// Reads the same without printing warnings and notes, for a caller that runs it afterwards.
    pub(super) fn read_silently(args: &ProjectArgs) -> Result<Option<Self>, Failure> {
        let read = Self::read_with_warnings(args)?;
        Ok(read.map(|(created, _)| created))
    }

    fn read_with_warnings(args: &ProjectArgs) -> Result<Option<(Self, Diagnostics)>, Failure> {
        let project = find_project(args)?;
        let checked = project.read(&pipeline_options(args)?)?;
        let (pipeline, warnings) = match checked.into_result() {
            Ok(read) => read,
            Err(found) => {
                print_diagnostics(&found);
                return Ok(None);
            }
        };
        let creation = pipeline.create()?;
        let created = Self {
            pipeline,
            creation,
            project,
            args: args.clone(),
        };
        Ok(Some((created, warnings)))
    }

    /// Returns the jobs that a change touches, if the arguments ask for them.
    pub(super) fn touched(
        &self,
        asked: &ChangedArgs,
        args: &ProjectArgs,
    ) -> Result<Option<Touched>, Failure> {
        Touched::find(asked, args, &self.project, &self.pipeline, &self.creation)
    }

    /// Returns the jobs that a selector selects: a name, also of all its `parallel` instances, a glob, or the
    /// variables of instances.
    pub(super) fn instances(&self, name: &str) -> Result<Vec<&CreatedJob>, Failure> {
        let creation = &self.creation;
        let named: Vec<_> = creation.jobs.iter().map(CreatedJob::named).collect();
        match selector::find(name, &named) {
            Ok(selected) => {
                let places = selected.indices.into_iter();
                Ok(places.map(|at| &creation.jobs[at]).collect())
            }
            Err(error) => {
                let help = error.help();
                let help =
                    help.unwrap_or_else(|| "`runwright list --all` shows all jobs".to_owned());
                Err(Failure::usage(error).with_help(help))
            }
        }
    }

    /// Returns, for each job of the pipeline, whether one of the selectors selects it.
    pub(super) fn meant(&self, texts: &[String]) -> Result<Vec<bool>, Failure> {
        let mut names = HashSet::new();
        for text in texts {
            let meant = self.instances(text)?;
            names.extend(meant.into_iter().map(CreatedJob::name));
        }
        let jobs = self.creation.jobs.iter();
        Ok(jobs.map(|job| names.contains(job.name())).collect())
    }

    /// Keeps only the jobs that `runwright run` would run for a selection.
    pub(super) fn narrow(&mut self, selection: &Selection) -> Result<(), Failure> {
        if self.creation.refusal.is_some() || *selection == Selection::default() {
            return Ok(());
        }
        let checked = selection.check(self.pipeline.resolved());
        checked.map_err(LocalError::from)?;
        let context = self.pipeline.context()?.clone();
        let plan = Plan::new(&self.creation, context, selection);
        let plan = plan.map_err(|error| self.no_pipeline("plan").failure(error.into()))?;
        print_skipped(&plan);
        let jobs = &mut self.creation.jobs;
        jobs.retain(|job| plan.position(job.name()).is_some());
        Ok(())
    }

    /// Returns the explainer of the jobs.
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

    /// Prints on standard error why there is no pipeline, if there is none; `command` is suggested for a
    /// situation that has one.
    pub(super) fn print_refusal(&self, command: &str) {
        if let Some(found) = &self.creation.refusal {
            self.no_pipeline(command).print(found);
        }
    }

    /// Returns what explains why there is no pipeline.
    pub(super) fn no_pipeline(&self, command: &str) -> NoPipeline<'_> {
        NoPipeline {
            pipeline: &self.pipeline,
            project: &self.args,
            command: vec![command.to_owned()],
            shell: shell_of_project(&self.args),
        }
    }
}
