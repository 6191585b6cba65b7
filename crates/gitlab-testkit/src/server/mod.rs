//! The server: a thread with its own runtime, its connections, and injected faults.

mod connection;
mod etag;
mod handle;
mod running;

pub(crate) use running::Running;
