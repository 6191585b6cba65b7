//! Jobs in real containers: `cargo xtask test` starts the Docker Engine they run on.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod allowed_options;
mod announced_files;
mod attach;
mod conformance;
mod container_options;
mod engine;
mod failures;
mod faults;
mod garbage;
mod images;
mod leftovers;
mod network;
mod orphan;
mod private_images;
mod resume;
mod run;
mod services;
mod ssh;
mod support;
mod terminal;
mod volumes;
mod warm;
mod whole_job;
