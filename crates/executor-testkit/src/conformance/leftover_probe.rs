use crate::conformance::check::{Outcome, ensure};
use crate::conformance::marked;
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::Suite;
use executor_core::JobSlot;
use executor_core::variable::JobVariable;
use std::path::PathBuf;
use std::sync::Arc;

/// Finds the leftovers of a job that never had an environment.
#[derive(Debug)]
pub(crate) struct LeftoverProbe {
    suite: Arc<Suite>,
    slot: JobSlot,
    mark: String,
    /// The temporary directory of jobs in this slot; `None` where the suite cannot check it.
    temp_dir: Option<PathBuf>,
}

impl LeftoverProbe {
    /// Runs an empty job to find the directories of later jobs with the same numbers.
    pub(crate) async fn learn(suite: &Arc<Suite>) -> Outcome<Self> {
        let session = Session::open(suite).await?;
        let is_local = session.is_local();
        let temp_dir = is_local.then(|| PathBuf::from(&session.dirs().temp_dir));
        let probe = Self {
            suite: Arc::clone(suite),
            slot: session.slot,
            mark: session.mark.clone(),
            temp_dir,
        };
        session.end(suite.ensure_can_look(is_local)).await?;
        Ok(probe)
    }

    /// Acquires capacity and creates an executor for a job with these numbers.
    ///
    /// Its processes have the mark if the executor passes them the job's variables.
    pub(crate) async fn open(&self) -> Outcome<Opening> {
        let opening = Opening::new(&self.suite).await?;
        let mark = JobVariable::public(marked::VARIABLE, self.mark.as_str());
        Ok(opening.with_slot(self.slot).with_variable(mark))
    }

    /// Fails when resources remain after `what`.
    pub(crate) async fn expect_nothing(&self, what: &str) -> Outcome {
        let patience = self.suite.options.promptness;
        let mut left = marked::wait_until_gone(&self.mark, patience).await;
        left.extend(self.suite.leftovers().await);
        if let Some(temp_dir) = self.temp_dir.as_ref().filter(|path| path.exists()) {
            left.push(temp_dir.display().to_string());
        }
        ensure!(
            left.is_empty(),
            "resources remain after {what}: {}",
            left.join("; ")
        );
        Ok(())
    }
}
