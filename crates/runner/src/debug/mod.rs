//! The HTTP server on `listen_address`: metrics, running jobs and the state of the process.

mod address;
mod job_list;
mod move_server;
mod pages;
mod server;

pub use address::{ListenAddress, ListenAddressError};
pub(crate) use job_list::{JobList, ListedJob};
pub(crate) use move_server::follow_settings;
pub use pages::DebugState;
pub use server::serve_debug;
