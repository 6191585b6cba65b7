//! The measurements measure what they say.

mod workloads;
