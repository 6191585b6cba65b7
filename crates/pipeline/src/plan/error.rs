use crate::create::{LeftOutBy, Refusal};
use crate::selector::NoMatch;
use thiserror::Error;
use yaml::suggest::nearest;

/// How many jobs that cannot run are named in a message.
const MOST_SHOWN: usize = 5;

/// Why a pipeline cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The selection names a job that does not exist.
    #[error(transparent)]
    UnknownJob(#[from] NoMatch),
    /// The selection names a stage that does not exist.
    #[error("there is no stage `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownStage {
        /// The selected name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The selection names a job of the file that is not in the pipeline.
    #[error("the pipeline does not have the job `{name}`: {by}; see `runwright explain`")]
    LeftOut {
        /// The selected name.
        name: String,
        /// Why it is not in the pipeline.
        by: LeftOutBy,
    },
    /// Selected jobs cannot run on this machine, each with the reason.
    #[error("{}; select other jobs to run without {}", refused(.0), it(.0))]
    NotLocal(Vec<(String, String)>),
    /// There is no pipeline.
    #[error("{0}")]
    NotCreated(Refusal),
}

impl PlanError {
    pub(super) fn unknown_stage<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        Self::UnknownStage {
            name: name.to_owned(),
            nearest: nearest(name, known).map(ToOwned::to_owned),
        }
    }
}

fn refused(jobs: &[(String, String)]) -> String {
    let shown = jobs.iter().take(MOST_SHOWN);
    let shown = shown.map(|(name, why)| format!("`{name}` cannot run here: {why}"));
    let mut shown = shown.collect::<Vec<_>>().join("; ");
    if jobs.len() > MOST_SHOWN {
        let more = jobs.len() - MOST_SHOWN;
        shown = format!("{shown}; and {more} more jobs");
    }
    shown
}

fn it(jobs: &[(String, String)]) -> &'static str {
    if jobs.len() == 1 { "it" } else { "them" }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
