//! The GitLab for tests, asked as a program would.

mod client;
mod files;
mod server;
mod who;
