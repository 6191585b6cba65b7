//! The service, over a real socket and with the generated client only.

mod builtin;
mod cancel;
mod environment;
pub(crate) mod fake_library;
mod followers;
mod functions;
mod host_requests;
mod idempotence;
pub(crate) mod memory;
mod odd_input;
mod references;
mod results;
mod run;
pub(crate) mod support;
mod upstream;
mod variables;
