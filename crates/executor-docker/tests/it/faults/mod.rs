//! Faults while a job runs: of its container, the connection to the engine, and the engine.

mod cut;
mod daemon;
mod entry;
mod faulty_socket;
mod lost;
mod rights;
mod stop;
mod warm;
