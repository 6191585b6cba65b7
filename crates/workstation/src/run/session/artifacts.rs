use crate::error::LocalError;
use crate::history::state::ProjectState;
use crate::history::{Run, RunHistory, products};
use executor_core::{JobId, JobProducts};
use job_runner::StoredArtifacts;
use pipeline::Plan;
use scheduler::Status;
use scheduler::{FinishedJob, RunProgress};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The artifacts of earlier runs for a job that is entered.
#[derive(Debug, Default)]
pub(crate) struct EarlierArtifacts {
    pub(crate) stores: Vec<StoredArtifacts>,
    /// Which run the artifacts of each job are from, a line each.
    pub(crate) notes: Vec<String>,
    /// The jobs before the entered one, as if they had run.
    pub(crate) progress: RunProgress,
}

impl EarlierArtifacts {
    /// Finds the artifacts of the jobs before the one that is entered: in this run, or for each in the last run that has
    /// them.
    ///
    /// The jobs of the plan get the ids that they had there.
    pub(super) fn find(
        plan: &mut Plan,
        state: &ProjectState,
        run: Option<u64>,
    ) -> Result<Self, LocalError> {
        let mut found = Self::default();
        let Some(target) = plan.jobs().iter().position(|job| job.is_played) else {
            return Ok(found);
        };
        let runs = match run {
            Some(id) => vec![state.runs().find(id)?],
            None => state.runs().list()?,
        };
        let runs: Vec<EarlierRun> = runs.into_iter().map(EarlierRun::new).collect();
        let mut left = HashMap::new();
        let mut ids: HashMap<String, JobId> = HashMap::new();
        for index in plan.dependencies(target) {
            let name = plan.jobs()[index].name().to_owned();
            let Some(job) = runs.iter().find_map(|run| run.job(state, plan, &name)) else {
                let runs = match run {
                    Some(run) => format!("run {run} has"),
                    None => "no run has".to_owned(),
                };
                found.notes.push(format!(
                    "{runs} artifacts of {name:?}; `--needs` runs it first"
                ));
                continue;
            };
            let note = format!("the artifacts of {name:?} are those of run {}", job.run);
            found.notes.push(note);
            found.stores.push(job.store);
            ids.insert(name.clone(), job.id);
            left.insert(name, job.products);
        }
        plan.keep_ids(&ids);
        for job in plan.jobs().iter().filter(|job| !job.is_played) {
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
            let name = job.name().to_owned();
            found.progress.finished.insert(name, finished);
        }
        Ok(found)
    }
}

/// An earlier run, whose history is read when it is first needed.
struct EarlierRun {
    run: Run,
    history: OnceCell<Option<RunHistory>>,
}

/// A job whose artifacts still exist.
struct EarlierJob {
    run: u64,
    id: JobId,
    store: StoredArtifacts,
    products: JobProducts,
}

impl EarlierRun {
    fn new(run: Run) -> Self {
        Self {
            run,
            history: OnceCell::new(),
        }
    }

    /// Returns a job of the run if it finished and its artifacts still exist.
    fn job(&self, state: &ProjectState, plan: &Plan, name: &str) -> Option<EarlierJob> {
        // An unreadable run has no artifacts to offer.
        let history = self.history.get_or_init(|| self.run.history().ok());
        let job = history.as_ref()?.job(name)?;
        let store = state.kept_files().of_run(self.run.directory());
        let kept = store.of_job(job.id).unwrap_or_default();
        (job.is_finished() && !kept.is_empty()).then(|| EarlierJob {
            run: self.run.id(),
            id: job.id,
            products: products(plan, &store, job),
            store,
        })
    }
}
