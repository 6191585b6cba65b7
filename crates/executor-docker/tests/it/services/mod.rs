//! The services of jobs, in a real engine.

mod ends;
mod job;
mod reach;
mod ready;
mod setup;
