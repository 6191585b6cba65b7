//! Jobs in real containers: `cargo xtask test` starts the Docker Engine they run on.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod adopt;
mod attach;
mod conformance;
mod create;
mod engine;
mod faults;
mod garbage;
mod granted;
mod images;
mod network;
mod orphan;
mod planned;
mod private;
mod recovery;
mod run;
mod services;
mod ssh;
mod support;
mod terminal;
mod trouble;
mod volumes;
mod warm;
mod whole_job;
