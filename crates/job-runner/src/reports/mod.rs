//! What jobs tell in files of known kinds: variables for later jobs, and how their tests went.
//!
//! Reading is pure, from bytes; `read` alone touches files, at the end of a job.

mod dotenv;
mod junit;
mod read;
mod text;

pub use dotenv::{DotenvError, DotenvProblem, read_dotenv};
pub use junit::{JunitError, read_junit};
