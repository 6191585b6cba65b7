//! The calls of a runner to its GitLab. Each is one request: what to do after a failure is the caller's decision.

mod answers;
mod server;

pub use answers::{JobAnswer, JobStatus, RunnerAnswer, UpdateAnswer};
pub use server::{ApiError, Server, ServerOptions};
