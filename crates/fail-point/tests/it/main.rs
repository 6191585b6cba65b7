//! A program with two points, which is this test itself, started anew for each case.

#![cfg_attr(
    feature = "enabled",
    expect(clippy::unwrap_used, reason = "in a test a panic is the report")
)]

#[cfg(feature = "enabled")]
mod enabled;
mod off;
