//! Tests of the GitLab for tests, through its HTTP interface.

mod client;
mod files;
mod git;
mod server;
mod tls;
mod who;
