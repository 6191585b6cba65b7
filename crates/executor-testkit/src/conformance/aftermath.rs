use crate::conformance::check::{Outcome, ensure};
use crate::conformance::marked;
use crate::conformance::session::{Opening, Session};
use crate::conformance::suite::Suite;
use executor_core::JobSlot;
use executor_core::variable::JobVariable;
use std::path::PathBuf;
use std::sync::Arc;

/// Knows where a job that never got an environment would leave something.
#[derive(Debug)]
pub(crate) struct Aftermath {
    suite: Arc<Suite>,
    slot: JobSlot,
    mark: String,
    /// Of the jobs of this slot; `None` where the suite cannot look.
    temp_dir: Option<PathBuf>,
}

impl Aftermath {
    /// Runs a job that does nothing, to learn where later ones of the same numbers live.
    pub(crate) async fn learn(suite: &Arc<Suite>) -> Outcome<Self> {
        let session = Session::open(suite).await?;
        let is_local = session.is_local();
        let temp_dir = is_local.then(|| PathBuf::from(&session.dirs().temp_dir));
        let aftermath = Self {
            suite: Arc::clone(suite),
            slot: session.slot,
            mark: session.mark.clone(),
            temp_dir,
        };
        session.end(suite.ensure_can_look(is_local)).await?;
        Ok(aftermath)
    }

    /// Acquires and creates for a job of these numbers, whose processes carry the mark if the
    /// executor gives them the job's variables.
    pub(crate) async fn open(&self) -> Outcome<Opening> {
        let opening = Opening::new(&self.suite).await?;
        let mark = JobVariable::public(marked::VARIABLE, self.mark.as_str());
        Ok(opening.with_slot(self.slot).with_variable(mark))
    }

    /// Fails when something is left, after `what`.
    pub(crate) async fn expect_nothing(&self, what: &str) -> Outcome {
        let patience = self.suite.options.promptness;
        let mut left = marked::wait_until_gone(&self.mark, patience).await;
        left.extend(self.suite.leftovers().await);
        if let Some(temp_dir) = self.temp_dir.as_ref().filter(|path| path.exists()) {
            left.push(temp_dir.display().to_string());
        }
        ensure!(
            left.is_empty(),
            "after {what} this was left: {}",
            left.join("; ")
        );
        Ok(())
    }
}
