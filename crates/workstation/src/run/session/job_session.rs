use super::artifacts::EarlierArtifacts;
use super::error::SessionError;
use crate::error::LocalError;
use crate::history::state::{PipelineDir, ProjectState};
use crate::project::local_pipeline::LocalPipeline;
use crate::project::situation::stamp;
use executor_core::job::When;
use pipeline::create::{CreatedJob, Creation};
use pipeline::plan::{NeedsMode, PlanError};
use pipeline::{Plan, Selection, create};
use process::Supervisor;
use std::sync::Arc;

/// One job of a pipeline for a user to enter, and where it gets artifacts of other jobs from.
///
/// Such a run is not recorded: it has a number and a directory only while it runs.
/// The [`visitor`](crate::RunOptions::visitor) of the run enters the job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobSession {
    /// The job, as a selection names it.
    pub job: String,
    /// The run whose artifacts are used; `None` means, for each job, the last run that has any.
    pub run: Option<u64>,
    /// Whether the jobs that it needs run first, so that no earlier artifacts are used.
    pub runs_needs: bool,
}

/// Plans a session and finds the artifacts that earlier runs left for it. All of it is removed at the end
/// of the run.
pub(crate) fn begin(
    directory: &PipelineDir,
    pipeline: &LocalPipeline,
    state: &ProjectState,
    session: &JobSession,
    supervisor: &Supervisor,
) -> Result<(Plan, EarlierArtifacts), LocalError> {
    if let Some(journal) = supervisor.journal() {
        journal.record_dir(&directory.path)?;
    }
    let mut plan = plan(directory.id, pipeline, session)?;
    let earlier = if session.runs_needs {
        EarlierArtifacts::default()
    } else {
        EarlierArtifacts::find(&mut plan, state, session.run)?
    };
    Ok((plan, earlier))
}

/// Plans a pipeline of one job and those that it needs.
///
/// Any job can be entered: also a manual one, one that its rules or those of the workflow leave out, and one
/// that runs on failure.
fn plan(id: u64, pipeline: &LocalPipeline, session: &JobSession) -> Result<Plan, LocalError> {
    let mut context = pipeline.context()?.clone();
    stamp(&mut context, id);
    let mut creation = create(pipeline.resolved(), &context, pipeline.repository()?);
    creation.refusal = None;
    let selection = Selection {
        jobs: vec![session.job.clone()],
        // So that a manual job is entered, too.
        manual: vec![session.job.clone()],
        needs: NeedsMode::With,
        ..Selection::default()
    };
    let first = match Plan::new(&creation, context.clone(), &selection) {
        Err(PlanError::LeftOut { name, .. }) => {
            include(&mut creation, &name);
            Plan::new(&creation, context.clone(), &selection)?
        }
        first => first?,
    };
    let name = selected(&first, session)?;
    for job in creation.jobs.iter_mut().filter(|job| job.name() == name) {
        make_enterable(job);
    }
    let selection = Selection {
        jobs: vec![name],
        manual: Vec::new(),
        ..selection
    };
    let plan = Plan::new(&creation, context, &selection)?;
    if session.runs_needs {
        plan.check_local()?;
    }
    Ok(plan.in_dialect(pipeline.dialect()))
}

/// Includes the jobs of a name that their rules leave out.
fn include(creation: &mut Creation, name: &str) {
    let has_name =
        |job: &&mut CreatedJob| job.name() == name || *job.resolved.name_in_file == *name;
    for job in creation.jobs.iter_mut().filter(has_name) {
        job.is_included = true;
    }
}

/// Returns the one selected job.
fn selected(plan: &Plan, session: &JobSession) -> Result<String, SessionError> {
    let named: Vec<_> = plan.jobs().iter().filter(|job| job.is_played).collect();
    match named.as_slice() {
        [] => Err(SessionError::Missing(session.job.clone())),
        [job] if job.is_bridge() => Err(SessionError::Bridge(job.name().to_owned())),
        [job] => Ok(job.name().to_owned()),
        several => Err(SessionError::Several {
            name: session.job.clone(),
            jobs: several.iter().map(|job| job.name().to_owned()).collect(),
        }),
    }
}

/// Removes what makes a job wait, and what follows from its end.
fn make_enterable(job: &mut CreatedJob) {
    let definition = Arc::make_mut(&mut job.definition);
    definition.when = When::OnSuccess;
    definition.start_in = None;
    definition.retry = None;
    definition.resource_group = None;
    definition.allow_failure = false;
    definition.allow_failure_exit_codes = None;
}
