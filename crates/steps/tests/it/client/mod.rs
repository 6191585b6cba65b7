//! The client against a real service.

mod cut;
mod execute;
mod files;
mod gone;
mod hostile;
mod log;
mod proxy;
mod ssh;
mod stage_requests;
mod stop;
pub(crate) mod support;
