//! The server: a thread with a runtime of its own, connections, and what goes wrong on request.

mod connection;
mod etag;
mod handle;
mod running;

pub(crate) use running::Running;
