//! The package of the example `local-pipeline`.
//!
//! It stands apart from the other examples so that `cargo run --release --example local-pipeline` builds only what
//! a local run needs: no Docker, no full screen.
