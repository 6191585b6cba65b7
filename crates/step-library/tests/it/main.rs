//! Functions from real repositories and registries, on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod cache;
mod credentials;
mod dropped;
mod git;
mod image;
mod images;
mod publish;
mod registry;
mod service;
mod support;
