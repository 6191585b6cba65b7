//! Connections to an engine on another host, through ssh.
//!
//! An ssh for each connection takes about half a second of both hosts, and sshd rejects logins while ten others are in
//! progress (`MaxStartups`). So one login forwards all connections to the engine's socket (`login.rs`). Where forwarding
//! is forbidden, or the user shares a login (`ControlPath`), each connection is a separate ssh, as with the docker
//! command.

mod client;
mod error_output;
mod forwarded_stream;
mod login;
mod program;
mod route;
mod stream;

pub(crate) use client::SshClient;
