//! What the author of a driver needs.
//!
//! A driver is a program that gives jobs an environment: a virtual machine, a node of a batch system, a board. A runner
//! calls it for each stage (`config`, `prepare`, `run`, `cleanup`: GitLab Runner's custom executor), or starts it once and
//! speaks the typed driver protocol. Implement [`Driver`] and call [`main`](main()): the program does both.
//!
//! | for | use |
//! |---|---|
//! | the job | [`JobContext`] |
//! | names that are found again | [`JobContext::resource_name`], [`resource_name`] |
//! | state between stages | [`Store`], [`Record`] |
//! | locks between processes | [`FileLock`] |
//! | images | [`ImagePolicy`], [`pull_once`] |
//! | a free slot, an address, a server that boots | [`Wait`], [`NotReady`] |
//! | scripts on a machine | [`SshHost`], [`SharedSsh`] |
//! | scripts in a batch system | [`Batch`], [`BatchTarget`] |
//! | scripts on this host | [`ThisHost`] |
//! | other programs | [`program`] |
//! | the end | [`Cleanup`] |
//! | exit codes | [`Failure`], [`ExitCodes`] |
//!
//! It is blocking code: a stage is a short program, and a serving driver has a thread for each call.

mod batch;
mod channel;
mod cleanup;
mod context;
mod driver;
mod environments;
mod failure;
mod image;
mod lock;
mod name;
mod remote;
mod serve;
mod shared_ssh;
mod ssh;
mod stop;
mod store;
mod this_host;
mod wait;

pub use batch::{Batch, BatchState, BatchTarget};
pub use cleanup::Cleanup;
pub use context::{JobContext, JobResponse, RegistryCredentials, ResponseImage, Service};
pub use driver::{Driver, DriverConfig, Identity, Limits, main};
pub use failure::{ExitCodes, Failure};
pub use image::{ImagePolicy, pull_once};
pub use lock::FileLock;
pub use name::{LONGEST_NAME, resource_name};
pub use remote::{Ended, Output, OwnStreams, StageLines, Stream, Target, program, quote};
pub use shared_ssh::SharedSsh;
pub use ssh::SshHost;
pub use stop::{Stage, Stop, StopLevel};
pub use store::{Record, State, Store, StoreError};
pub use this_host::ThisHost;
pub use wait::{NotReady, Wait};
