use crate::args::{ChangedArgs, DialectArg, ProjectArgs};
use crate::failure::Failure;
use console::{counted, error_line, print_notes, strip_controls};
use pipeline::create::Creation;
use pipeline_insight::affected::{AffectedJobs, Cause};
use std::collections::HashMap;
use workstation::{
    BitrabSettings, LocalError, LocalPipeline, LocalProject, Settings, StateDir, TreeChanges,
};

/// The jobs that a change touches.
pub(super) struct Touched {
    pub(super) jobs: AffectedJobs,
    changes: TreeChanges,
}

impl Touched {
    /// Finds the jobs that changes touch, if the arguments ask for them.
    pub(super) fn find(
        asked: &ChangedArgs,
        args: &ProjectArgs,
        project: &LocalProject,
        pipeline: &LocalPipeline,
        creation: &Creation,
    ) -> Result<Option<Self>, Failure> {
        if !asked.is_asked() {
            return Ok(None);
        }
        let base = asked.base();
        let of_project = match base {
            None if args.dialect == DialectArg::Bitrab => {
                let settings = BitrabSettings::read(project.root()).map_err(LocalError::from)?;
                settings.changes_base
            }
            _ => None,
        };
        let changes = pipeline.changes_since(base.or(of_project.as_deref()))?;
        let jobs = touched(project, pipeline, creation, changes.files.as_deref())?;
        let found = Self { jobs, changes };
        found.tell();
        Ok(Some(found))
    }

    /// Returns the cause of each touched job.
    pub(super) fn causes(&self) -> HashMap<&str, &Cause> {
        let jobs = self.jobs.touched.iter();
        jobs.map(|job| (job.name.as_str(), &job.cause)).collect()
    }

    /// Prints a summary of the changes in one line.
    fn tell(&self) {
        if let Some(unknown) = &self.changes.unknown {
            error_line(&strip_controls(&format!(
                "warning: every file counts as changed: {unknown}"
            )));
        }
        let since = self.changes.since.as_deref().unwrap_or_default();
        let Some(files) = &self.changes.files else {
            return;
        };
        let all = self.jobs.touched.len() + self.jobs.untouched.len();
        let note = match (files.len(), self.jobs.touched.len()) {
            (0, _) => format!("nothing changed since {since}"),
            (count, touched) => format!(
                "{} changed since {since}: {touched} of {} touched",
                counted(count, "file"),
                counted(all, "job")
            ),
        };
        print_notes([&strip_controls(&note)]);
    }
}

/// Returns the jobs that changes of these files touch, by the declared inputs.
pub(super) fn touched(
    project: &LocalProject,
    pipeline: &LocalPipeline,
    creation: &Creation,
    files: Option<&[String]>,
) -> Result<AffectedJobs, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let home = std::env::home_dir();
    let settings = Settings::of_project(project.root(), state.path(), home.as_deref())
        .map_err(LocalError::from)?;
    let inputs = |job: &str| settings.job(job).inputs;
    Ok(pipeline.affected(creation, files, &inputs)?)
}
