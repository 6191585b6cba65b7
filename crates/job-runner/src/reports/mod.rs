//! Report files of jobs: variables for later jobs, and test results.
//!
//! The readers are pure, from bytes; only `read` opens files, at the end of a job.

mod dotenv;
mod junit;
mod read;
mod text;

pub use dotenv::{DotenvError, DotenvProblem, read_dotenv};
pub use junit::{JunitError, read_junit};
