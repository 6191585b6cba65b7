//! The services of jobs, in a real engine.

mod connections;
mod exits;
mod job;
mod readiness;
mod setup;
