//! Runs jobs through a driver: a program in any language that gives jobs an environment.
//!
//! The runner starts one driver process and speaks to it over its standard input and output, in frames with a JSON
//! header. `proto/runwright/driver/v1/driver.proto` describes the protocol, `examples/drivers/host.py` is a complete
//! driver, and `docs/adr/0011-frames-with-a-json-header.md` gives the reasons against gRPC.
//!
//! ```
//! use executor_core::prelude::*;
//! use executor_driver::DriverConfig;
//!
//! let config = DriverConfig::new(["python3", "/opt/drivers/host.py"]);
//! let mut features = FeaturesInfo::default();
//! executor_driver::provider(config).features(&mut features)?;
//! assert!(features.variables);
//! # Ok::<(), ProviderError>(())
//! ```
//!
//! [`provider()`] creates the [`DriverProvider`] from a [`DriverConfig`]. Its first `acquire` starts the driver; the driver
//! is started again when it has died, for the next job or, with the capability `reconnect`, in the middle of one.
//!
//! **Guarantees.** Every call has a deadline. A driver that is silent, prints anything else on its standard output or
//! exceeds a limit is killed, with all processes that it started, and the error shows what it did. A script that may have
//! started is never started again.

mod provider;

mod executor;

mod config;

mod error;

mod call;
mod connection;
mod driver;
mod error_output;
mod frame;
mod held;
mod message;
mod run;
mod transfer;

pub use config::DriverConfig;
pub use message::Description;
pub use provider::{DriverProvider, NAME, provider};
