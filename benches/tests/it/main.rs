//! Tests of the benches' own measurements.

mod contests;
mod workloads;
