//! What is spoken on the socket, generated from the `.proto` files of this crate.
//!
//! `tests/it/wire.rs` compares the code with them, and writes it when `RUNWRIGHT_WRITE_WIRE` is set.

mod debug;

/// Package `runwright.steps.v1`: all that the service can do.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    reason = "the generator knows no words for its modules and constructors"
)]
#[rustfmt::skip]
pub mod v1;

/// Package `proto`: the shape that GitLab Runner's own client speaks.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    reason = "the generator knows no words for its modules and constructors"
)]
#[rustfmt::skip]
pub mod upstream;
