//! The measurements measure what they say.

mod contests;
mod workloads;
