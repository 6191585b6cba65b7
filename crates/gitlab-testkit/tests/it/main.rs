//! The GitLab for tests, asked as a program would.

mod client;
mod files;
mod git;
mod server;
mod tls;
mod who;
