//! The package of the examples; each is a separate program beside this directory.
//!
//! - `custom-executor`: an executor written from the contract alone.
//! - `docker-job`: runs one job in a container.
//! - `stacked-provider`: layers around a provider, and why their order matters.
//!
//! ```text
//! cargo run --example custom-executor
//! ```
//!
//! The examples of the user guide are compiled with this package, too.

#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../docs/book/src/getting-started.md")]
    mod getting_started {}
    #[doc = include_str!("../../docs/book/src/running-pipelines.md")]
    mod running_pipelines {}
    #[doc = include_str!("../../docs/book/src/output.md")]
    mod output {}
    #[doc = include_str!("../../docs/book/src/command-line.md")]
    mod command_line {}
    #[doc = include_str!("../../docs/book/src/events.md")]
    mod events {}
    #[doc = include_str!("../../docs/book/src/metrics.md")]
    mod metrics {}
    #[doc = include_str!("../../docs/book/src/embedding.md")]
    mod embedding {}
    #[doc = include_str!("../../docs/book/src/writing-an-executor.md")]
    mod writing_an_executor {}
    #[doc = include_str!("../../docs/book/src/layers.md")]
    mod layers {}
}
