//! The service, over a real socket and through nothing but the generated client.

mod builtin;
mod cancel;
pub(crate) mod fake_library;
mod functions;
mod idempotence;
mod memory;
mod odd_input;
mod references;
mod run;
pub(crate) mod support;
mod upstream;
mod variables;
mod wishes;
