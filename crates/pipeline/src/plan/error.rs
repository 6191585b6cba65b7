use crate::context::ExpandError;
use thiserror::Error;

/// Why a pipeline cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The selection names a job there is not.
    #[error("there is no job `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownJob {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The selection names a stage there is not.
    #[error("there is no stage `{name}`{}", suggestion(.nearest.as_deref()))]
    UnknownStage {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The variables of a job cannot be computed.
    #[error("compute the variables of the job `{job}`")]
    Variables {
        /// The job.
        job: String,
        /// What is wrong with them.
        #[source]
        source: ExpandError,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
