//! `--only-failed`: which jobs failed in the last run.

use crate::failure::Failure;
use anyhow::anyhow;
use console::error_line;
use executor_core::job::When;
use pipeline::Selection;
use scheduler::Status;
use std::collections::BTreeSet;
use workstation::{JobHistory, LocalError, LocalPipeline, LocalProject, RunState, StateDir};

/// Narrows a selection to the jobs that failed in the last run of the project and those skipped because of
/// them, or to the `known` jobs. Returns whether there are any, and prints a note if not.
pub(super) fn narrow(
    selection: &mut Selection,
    known: Option<&BTreeSet<String>>,
    project: &LocalProject,
    pipeline: &LocalPipeline,
) -> Result<bool, Failure> {
    let failed = match known {
        Some(chosen) => chosen.clone(),
        None => of_last_run(project, pipeline)?,
    };
    let is_any = !failed.is_empty();
    selection.among = Some(match selection.among.take() {
        Some(among) => among.intersection(&failed).cloned().collect(),
        None => failed,
    });
    Ok(is_any)
}

fn of_last_run(
    project: &LocalProject,
    pipeline: &LocalPipeline,
) -> Result<BTreeSet<String>, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let runs = state.project(project.root()).runs();
    let run = runs.latest().map_err(LocalError::from)?;
    let history = run.history().map_err(LocalError::from)?;
    if let RunState::Running { .. } = run.state(&history) {
        let error = anyhow!(
            "run {} is still in progress: its failures are not known yet",
            run.id()
        );
        return Err(Failure::usage(error)
            .with_help("`runwright history` shows it; `runwright cancel` stops it"));
    }
    let failed = history.failed();
    if failed.is_empty() {
        error_line(&format!("nothing failed in run {}", run.id()));
        return Ok(BTreeSet::new());
    }
    let creation = pipeline.create()?;
    // Selecting a manual job would only add the jobs that it needs.
    let waits = |job: &JobHistory| {
        let created = creation.job(&job.name);
        job.status != Status::Failed
            && created.is_some_and(|created| created.definition.when == When::Manual)
    };
    let failed = failed.into_iter().filter(|job| !waits(job));
    Ok(failed.map(|job| job.name.clone()).collect())
}
