//! Tests of the driver with an agent in Python (`agent.py`), whose machines are OpenSSH servers of this host.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod capacity;
mod cleanup;
mod conformance;
mod lifecycle;
mod locks;
mod machines;
mod qemu;
mod scripts;
mod support;
mod units;
