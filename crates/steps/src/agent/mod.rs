//! The agent: the program that runs inside an environment, and what finds it outside.
//!
//! Inside, [`main`] is all of `runwright-agent`. Outside, [`find`] says where there is one that can be put into a
//! container, [`Agent`] what it is, and [`locate_socket`], [`proxy_command`] and [`serve_command`] how it is called.

mod bootstrap;
mod command;
pub(crate) mod connection;
mod elf;
mod error;
mod find;
mod invocation;
mod main;
mod pack;
mod presence;
mod serve;
mod socket;
mod stamp;

pub use error::AgentError;
pub use find::{Agent, find};
pub use invocation::{
    ARGV_VARIABLE, DEFAULT_DIRECTORY, Invocation, ServeOptions, locate_socket, proxy_command,
    serve_command,
};
pub use main::main;

/// What the program is called wherever it lies.
pub const PROGRAM: &str = "runwright-agent";

/// Begins the line on standard error that says the agent is ready; the path of the socket follows.
pub const READY: &str = "runwright-agent is listening on socket ";
