//! Runs jobs as pods of a Kubernetes cluster.
//!
//! The design and its reasons are in `docs/design/kubernetes.md`.

mod access;
mod agent;
mod bare;
mod check;
mod cluster;
mod config;
mod create;
mod created;
mod error;
mod exec;
mod executor;
mod link;
mod login;
mod memory;
mod namespace;
mod place;
mod plugin;
mod pod;
mod ports;
mod provider;
mod stage_end;
mod state;
mod takeover;
mod terminal;
mod transport;
mod warm;
mod watch;

pub use check::{Check, Report, Verdict, check};
pub use cluster::{PodSweep, place};
pub use config::{
    DnsPolicy, EngineChoice, KubernetesConfig, NAME, PatchType, PodSpecPatch, PullPolicy,
    ServiceConfig, VolumeConfig, VolumesConfig, WarmConfig,
};
pub use error::KubernetesError;
pub use executor::KubernetesExecutor;
pub use pod::InvalidSetting;
pub use provider::{KubernetesProvider, provider};
