use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a change touches a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// Nobody knows what changed.
    UnknownChanges,
    /// A file changed that the pipeline itself is read from.
    PipelineFile {
        /// The file.
        path: String,
    },
    /// A file changed that the job reads.
    Input {
        /// The file.
        path: String,
        /// The pattern that it fits, as it is written.
        pattern: String,
    },
    /// Nothing says what the job reads, and something changed.
    UnknownInputs {
        /// The first file that changed.
        path: String,
    },
    /// A file changed that may be part of the pipeline that the job starts.
    ChildPipeline {
        /// The file.
        path: String,
    },
    /// There are too many files and patterns to compare all of them.
    TooMany,
    /// The job gets results of another one that is touched.
    Behind {
        /// That job.
        job: String,
    },
}

/// Says why, in a few words that go behind the name of the job.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownChanges => f.write_str("what changed is unknown"),
            Self::PipelineFile { path } => write!(f, "`{path}` is part of the pipeline"),
            Self::Input { path, pattern } => write!(f, "`{path}` matches `{pattern}`"),
            Self::UnknownInputs { path } => {
                write!(f, "`{path}` changed, and nothing says what it reads")
            }
            Self::ChildPipeline { path } => {
                write!(f, "`{path}` may be part of the pipeline that it starts")
            }
            Self::TooMany => f.write_str("there are too many files and patterns to compare"),
            Self::Behind { job } => write!(f, "behind `{job}`"),
        }
    }
}
