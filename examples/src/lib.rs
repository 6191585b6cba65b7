//! The package of the examples; each is a program of its own beside this directory.
//!
//! - `custom-executor`: an executor written from nothing but the contract.
//! - `stacked-provider`: layers around a provider, and why their order matters.
//!
//! ```text
//! cargo run --example custom-executor
//! ```
