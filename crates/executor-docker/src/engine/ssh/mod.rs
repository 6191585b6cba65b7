//! The way to an engine on another host, through ssh.
//!
//! An ssh for each connection takes about half a second of both hosts, and an sshd turns away who comes when ten others
//! are logging in (`MaxStartups`). So there is one login, whose ssh leads each connection to the engine's socket
//! (`login.rs`). Where it may not, or the user has a login of his own that others share (`ControlPath`), each connection
//! is an ssh of its own, as the docker command has it.

mod client;
mod error_output;
mod forwarded_stream;
mod login;
mod route;
mod stream;

pub(crate) use client::SshClient;
