//! The proxy: joins a program's standard input and output to the service's socket.
//!
//! Whatever starts a program inside the environment and is joined to its input and output (`docker exec`, `ssh`, an
//! exec in a pod) reaches the service so, and no port need be open.

mod error;
mod relay;
mod way;

pub use error::ProxyError;
pub use relay::{run, run_stdio};
