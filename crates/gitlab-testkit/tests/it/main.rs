//! Tests of the GitLab for tests, through its HTTP interface.

mod client;
mod files;
mod git;
mod job_artifacts;
mod job_git;
mod job_queue;
mod job_rules;
mod job_trace;
mod recordings;
mod replay;
mod runner;
mod server;
mod tls;
mod who;
