use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a change affects a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// It is unknown what changed.
    UnknownChanges,
    /// A file of the pipeline's own definition changed.
    PipelineFile {
        /// The file.
        path: String,
    },
    /// A file that the job reads changed.
    Input {
        /// The file.
        path: String,
        /// The matching pattern, as written.
        pattern: String,
    },
    /// A file changed, and it is unknown what the job reads.
    UnknownInputs {
        /// The first changed file.
        path: String,
    },
    /// A file changed that may be part of the pipeline that the job triggers.
    ChildPipeline {
        /// The file.
        path: String,
    },
    /// There are too many files and patterns to compare all of them.
    TooMany,
    /// The job gets results of another affected job.
    Behind {
        /// That job.
        job: String,
    },
}

/// Writes the cause in a few words, to follow the name of the job.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownChanges => f.write_str("it is unknown what changed"),
            Self::PipelineFile { path } => write!(f, "`{path}` is part of the pipeline"),
            Self::Input { path, pattern } => write!(f, "`{path}` matches `{pattern}`"),
            Self::UnknownInputs { path } => {
                write!(f, "`{path}` changed, and it is unknown what it reads")
            }
            Self::ChildPipeline { path } => {
                write!(f, "`{path}` may be part of the pipeline that it triggers")
            }
            Self::TooMany => f.write_str("there are too many files and patterns to compare"),
            Self::Behind { job } => write!(f, "behind `{job}`"),
        }
    }
}
