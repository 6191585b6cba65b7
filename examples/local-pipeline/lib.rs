//! The package of the example `local-pipeline`.
//!
//! It is separate from the other examples so that `cargo run --release --example local-pipeline` builds only
//! the dependencies of a local run, without those for Docker and the full screen.
