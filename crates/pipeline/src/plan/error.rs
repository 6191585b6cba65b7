use crate::create::{LeftOutBy, Refusal};
use crate::selector::NoMatch;
use std::fmt;
use thiserror::Error;
use yaml::source::Span;
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
    NotLocal(Vec<RefusedJob>),
    /// There is no pipeline.
    #[error("{0}")]
    NotCreated(Refusal),
}

/// A job that cannot run on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedJob {
    /// Its name.
    pub name: String,
    /// The reason, in one sentence without a final dot.
    pub why: String,
    /// The keyword that a local run cannot carry out, for example `needs:project`; `None` for another reason.
    pub keyword: Option<&'static str>,
    /// Its location; absent if it was not read from a file.
    pub span: Option<Span>,
}

impl fmt::Display for RefusedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot run here: {}", self.name, self.why)
    }
}

impl PlanError {
    pub(super) fn unknown_stage<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        Self::UnknownStage {
            name: name.to_owned(),
            nearest: nearest(name, known).map(ToOwned::to_owned),
        }
    }
}

fn refused(jobs: &[RefusedJob]) -> String {
    let shown = jobs.iter().take(MOST_SHOWN).map(ToString::to_string);
    let mut shown = shown.collect::<Vec<_>>().join("; ");
    if jobs.len() > MOST_SHOWN {
        let more = jobs.len() - MOST_SHOWN;
        shown = format!("{shown}; and {more} more jobs");
    }
    shown
}

fn it(jobs: &[RefusedJob]) -> &'static str {
    if jobs.len() == 1 { "it" } else { "them" }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
