//! Round trips, exchange with other tools, and hostile archives.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bytes;
mod hostile_tar;
mod hostile_zip;
mod mutated;
mod peers;
mod refused;
mod round_trip;
mod scratch;
