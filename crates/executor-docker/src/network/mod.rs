//! The network of a job and its services.

mod addresses;
mod job_network;
mod mode;
mod mtu;
mod plan;

pub use job_network::JobNetwork;
pub use mode::{NetworkMode, RefusedNetwork};
pub use mtu::choose_mtu;
