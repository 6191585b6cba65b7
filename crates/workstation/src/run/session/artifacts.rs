use super::job_session::JobSession;
use crate::error::LocalError;
use crate::history::state::ProjectState;
use crate::history::{Run, RunHistory, products};
use executor_core::JobId;
use job_runner::StoredArtifacts;
use pipeline::Plan;
use scheduler::Status;
use scheduler::{FinishedJob, RunProgress};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What earlier runs left for a job that is entered.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Where it is.
    pub(crate) stores: Vec<StoredArtifacts>,
    /// What is to be told about it, a line each.
    pub(crate) notes: Vec<String>,
    /// The jobs before it, as if they had run.
    pub(crate) progress: RunProgress,
}

/// Looks for the artifacts of the jobs before the one that is entered, in the last run that has them.
///
/// The jobs of the plan get the ids that they had there.
pub(crate) fn find(
    plan: &mut Plan,
    state: &ProjectState,
    session: &JobSession,
) -> Result<Found, LocalError> {
    let mut found = Found::default();
    if session.runs_needs {
        return Ok(found);
    }
    let Some(target) = plan.jobs().iter().position(|job| job.is_played) else {
        return Ok(found);
    };
    let runs = match session.run {
        Some(id) => vec![state.runs().find(id)?],
        None => state.runs().list()?,
    };
    let mut left = HashMap::new();
    let mut ids: HashMap<String, JobId> = HashMap::new();
    let earlier = Earlier::new(runs, state);
    let sources = plan.dependencies(target);
    for at in sources {
        let name = plan.jobs()[at].name().to_owned();
        let Some((run, store, id, products)) = earlier.look(plan, &name) else {
            let whence = match session.run {
                Some(run) => format!("run {run} has"),
                None => "no run has".to_owned(),
            };
            found.notes.push(format!(
                "{whence} artifacts of {name:?}; `--needs` runs it first"
            ));
            continue;
        };
        found
            .notes
            .push(format!("the artifacts of {name:?} are those of run {run}"));
        found.stores.push(store);
        ids.insert(name.clone(), id);
        left.insert(name, products);
    }
    plan.keep_ids(&ids);
    let before = plan.jobs().iter().filter(|job| !job.is_played);
    for job in before {
        let products = left.remove(job.name()).unwrap_or_default();
        let finished = FinishedJob {
            status: Status::Success,
            attempts: 1,
            exit_code: Some(0),
            failure_reason: None,
            duration: Duration::ZERO,
            allow_failure: false,
            products: Arc::new(products),
            reused: None,
        };
        found
            .progress
            .finished
            .insert(job.name().to_owned(), finished);
    }
    Ok(found)
}

/// The earlier runs, the newest first; each is read once, when it is asked.
struct Earlier<'s> {
    runs: Vec<(Run, OnceCell<Option<RunHistory>>)>,
    state: &'s ProjectState,
}

type Left = (u64, StoredArtifacts, JobId, executor_core::JobProducts);

impl<'s> Earlier<'s> {
    fn new(runs: Vec<Run>, state: &'s ProjectState) -> Self {
        let runs = runs.into_iter().map(|run| (run, OnceCell::new())).collect();
        Self { runs, state }
    }

    /// Finds the last run in which a job left artifacts that are still there.
    fn look(&self, plan: &Plan, name: &str) -> Option<Left> {
        for (run, history) in &self.runs {
            // What cannot be read has nothing to give.
            let history = history.get_or_init(|| run.history().ok());
            let Some(job) = history.as_ref().and_then(|history| history.job(name)) else {
                continue;
            };
            let store = self.state.kept_files().of_run(run.directory());
            let kept = store.of_job(job.id).unwrap_or_default();
            if job.is_finished() && !kept.is_empty() {
                let products = products(plan, &store, job);
                return Some((run.id(), store, job.id, products));
            }
        }
        None
    }
}
