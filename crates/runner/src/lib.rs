//! Takes jobs from a GitLab and runs them with any executor.
//!
//! A [`Manager`] has one entry for each `[[runners]]` of a `config.toml`. An entry polls its GitLab, runs the jobs
//! with its executor, and leaves logs and results to deliveries, which outlive the process: they are files first. See
//! `docs/design/runner.md` for the reasons.

pub mod api;
pub mod config;

mod debug;
mod delivery;
mod entry;
mod log_reader;
mod manager;
mod manager_error;
mod metrics;
mod object_cache;
mod outbox;
mod pace;
mod process_context;
mod process_state;
mod reasons;
mod repository;
mod rotation;
mod secrets;
mod server_key;
mod session;
mod slots;
mod spans;
mod system_id;
mod turn;

pub use debug::{DebugState, ListenAddress, ListenAddressError, serve_debug};
pub use delivery::DeliveryTimes;
#[doc(no_inline)]
pub use gitlab_api::runner::{RegisteredRunner, Registration, RunnerCall, RunnerInfo};
pub use manager::{Executors, Manager, ManagerOptions};
pub use manager_error::ManagerError;
pub use metrics::{Metrics, MetricsOptions, metric_table_markdown};
pub use object_cache::{ObjectBucket, ObjectBucketError, ObjectCaches};
pub use outbox::{JobEnd, JobFiles, JobRecord, Outbox, OutboxError};
pub use process_context::{Handover, program_info};
pub use process_state::ProcessState;
pub use rotation::{NewToken, TokenStore};
pub use secrets::{CloudEndpoints, SecretStores};
pub use server_key::server_options;
pub use system_id::system_id;
#[doc(no_inline)]
pub use web::{Proxies, Url};
