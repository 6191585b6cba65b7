//! Faults while a job runs: of its container, the connection to the engine, and the engine.

mod cancel_during_creation;
mod cut;
mod daemon;
mod entry_points;
mod faulty_socket;
mod lost_container;
mod unprivileged_host;
mod warm;
