//! What is spoken on the socket, generated from the `.proto` files of this crate.
//!
//! `tests/it/wire.rs` compares the code with them, and writes it when `RUNWRIGHT_WRITE_WIRE` is set.

mod debug;

/// The metadatum of a refusal that says which instance of the service has refused what is for another one.
pub(crate) const INSTANCE: &str = "runwright-instance";

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
