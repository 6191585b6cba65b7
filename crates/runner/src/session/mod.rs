//! The session server: GitLab connects to it for the web terminal and the ports of a running job.

mod access;
mod port;
mod refusal;
mod server;
mod terminal;

pub(crate) use access::{OpenSession, Sessions};
pub(crate) use server::SessionServer;
