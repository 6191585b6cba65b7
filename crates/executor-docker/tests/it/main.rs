//! Jobs in real containers: `cargo xtask test` starts the Docker Engine they run on.
