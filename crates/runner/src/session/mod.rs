//! The session server: GitLab connects to it for the web terminal of a running job.

mod access;
mod server;
mod terminal;

pub(crate) use access::{OpenSession, Sessions};
pub(crate) use server::SessionServer;
