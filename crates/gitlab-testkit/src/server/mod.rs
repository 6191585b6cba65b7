//! The server: a thread with its own runtime, its connections, and injected faults.

mod connection;
mod etag;
mod handle;
mod received;
mod running;

pub(crate) use handle::router;
pub(crate) use received::receive;
pub(crate) use running::{Running, bind_again};
