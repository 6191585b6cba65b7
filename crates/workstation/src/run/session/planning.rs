use super::artifacts::{Found, find};
use super::error::SessionError;
use super::job_session::JobSession;
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

/// Plans a session and looks for what earlier runs left for it. Nothing of it stays, however it ends.
pub(crate) fn begin(
    directory: &PipelineDir,
    pipeline: &LocalPipeline,
    state: &ProjectState,
    session: &JobSession,
    supervisor: &Supervisor,
) -> Result<(Plan, Found), LocalError> {
    if let Some(journal) = supervisor.journal() {
        journal.record_dir(&directory.path)?;
    }
    let mut plan = plan(directory.id, pipeline, session)?;
    let found = find(&mut plan, state, session)?;
    Ok((plan, found))
}

/// Plans a pipeline in which one job is entered, behind those that it needs.
///
/// Any job can be entered: one that rules leave out, that waits for somebody or for a failure.
fn plan(id: u64, pipeline: &LocalPipeline, session: &JobSession) -> Result<Plan, LocalError> {
    let mut context = pipeline.context()?.clone();
    stamp(&mut context, id);
    let mut creation = create(pipeline.resolved(), &context, pipeline.repository()?);
    let selection = Selection {
        jobs: vec![session.job.clone()],
        // Whatever is meant is entered, also by a glob.
        manual: vec![session.job.clone()],
        needs: NeedsMode::With,
        ..Selection::default()
    };
    let first = match Plan::new(&creation, context.clone(), &selection) {
        Err(PlanError::LeftOut { name, .. }) => {
            bring_in(&mut creation, &name);
            Plan::new(&creation, context.clone(), &selection)?
        }
        first => first?,
    };
    let name = entered(&first, session)?;
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

/// Brings the jobs of a name into the pipeline that its rules leave out.
fn bring_in(creation: &mut Creation, name: &str) {
    let is_meant =
        |job: &&mut CreatedJob| job.name() == name || *job.resolved.name_in_file == *name;
    for job in creation.jobs.iter_mut().filter(is_meant) {
        job.is_included = true;
    }
}

/// Returns the one job that is meant.
fn entered(plan: &Plan, session: &JobSession) -> Result<String, SessionError> {
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

/// Takes away what makes a job wait, and what it does when it has ended.
fn make_enterable(job: &mut CreatedJob) {
    let definition = Arc::make_mut(&mut job.definition);
    definition.when = When::OnSuccess;
    definition.start_in = None;
    definition.retry = None;
    definition.resource_group = None;
    definition.allow_failure = false;
    definition.allow_failure_exit_codes = None;
}
