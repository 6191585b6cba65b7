//! Interactive shells in a job's container.

mod docker_terminal;
mod session;

pub(crate) use docker_terminal::DockerTerminal;
