use std::fmt::Write as _;

/// Why a job cannot be entered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The name matches several jobs.
    #[error("expected the name of one job: {name:?} matches {}", jobs.len())]
    Several {
        /// The name.
        name: String,
        /// The jobs.
        jobs: Vec<String>,
    },
    /// The job starts a pipeline and runs no script.
    #[error("the job {0:?} starts another pipeline and has no script to enter")]
    Bridge(String),
    /// The pipeline does not have the job.
    #[error("the pipeline has no job {0:?} here")]
    Missing(String),
}

impl SessionError {
    /// Returns what the user can do.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Several { jobs, .. } => {
                let mut text = "name one of them:".to_owned();
                for job in jobs.iter().take(MOST_NAMES) {
                    let _ = write!(text, " {job:?}");
                }
                if jobs.len() > MOST_NAMES {
                    let _ = write!(text, " ...");
                }
                Some(text)
            }
            Self::Bridge(_) => {
                Some("run it, and enter a job of the pipeline that it starts".to_owned())
            }
            Self::Missing(_) => None,
        }
    }
}

const MOST_NAMES: usize = 8;
