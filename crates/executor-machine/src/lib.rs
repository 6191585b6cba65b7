//! A layer over any executor that gives each job a machine from a pool.
//!
//! [`MachineLayer`] wraps a provider. Its [`Pool`] creates machines through a [`MachineDriver`], as [`policy`] decides, and each
//! job finds the [`Endpoint`](executor_core::Endpoint) of its machine in its `ExecutorData`. The design is in
//! `docs/design/machines.md`.
//!
//! # Examples
//!
//! ```
//! use async_trait::async_trait;
//! use executor_core::prelude::*;
//! use executor_core::Endpoint;
//! use executor_machine::schedule::Idle;
//! use executor_machine::{DriverError, MachineDriver, MachineLayer, PoolOptions};
//! use executor_testkit::{ScriptedProvider, runner_config};
//!
//! /// Hosts that are always there.
//! #[derive(Debug)]
//! struct Rack;
//!
//! #[async_trait]
//! impl MachineDriver for Rack {
//!     async fn list(&self, _prefix: &str) -> Result<Vec<String>, DriverError> {
//!         Ok(Vec::new())
//!     }
//!     async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
//!         let host = format!("tcp://{name}.rack:2376");
//!         Ok(Endpoint::Engine { host, tls_cert_path: None })
//!     }
//!     async fn check(&self, _name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
//!         Ok(())
//!     }
//!     async fn remove(&self, _name: &str) -> Result<(), DriverError> {
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut options = PoolOptions::new("ci-");
//! options.limits.machines = 5;
//! options.schedule.otherwise.idle = Idle::Fixed(2);
//! options.schedule.otherwise.preemptive = true;
//! let layer = MachineLayer::new(options, Arc::new(Rack));
//! let provider = ProviderStack::new(ScriptedProvider::new()).layer(&layer).build();
//! provider.init()?;
//! # tokio::time::sleep(std::time::Duration::from_secs(1)).await;
//!
//! let config = runner_config("fleet");
//! let data = provider.acquire(&config, &Cancellation::new()).await?;
//! let machines = layer.pool().status().await;
//! assert_eq!(machines.len(), 3);
//! provider.release(&config, data).await;
//! # Ok(())
//! # }
//! ```

pub mod driver;
pub mod drivers;
mod executor;
mod journal;
pub mod machine;
mod metrics;
mod options;
pub mod period;
mod plot;
pub mod policy;
mod pool;
mod provider;
pub mod schedule;
pub mod settings;
pub mod simulation;
mod throttle;
mod ticket;

pub use driver::{DriverError, MachineDriver};
pub use executor::{MachineExecutor, machine_of};
pub use journal::{Journal, JournalError};
pub use metrics::MachineMetrics;
pub use options::PoolOptions;
pub use pool::{Acquired, Lease, MachineStatus, Pool, Promise, Records, TakeError, is_name_of};
pub use process::Supervisor;
pub use provider::{MachineLayer, MachineProvider};
pub use throttle::Throttle;
