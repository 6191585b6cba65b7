//! What is packed is unpacked as it was, by us and by others; and what strangers packed does no harm.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bytes;
mod hostile_tar;
mod hostile_zip;
mod mutated;
mod peers;
mod refused;
mod round_trip;
mod scratch;
