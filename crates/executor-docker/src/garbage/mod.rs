//! Garbage collection: images and volumes that jobs brought into an engine, and objects of dead runs.
//!
//! A [`Ledger`] records what is ours, [`JobLeases`] protect what a job uses, and a [`Collector`] removes what exceeds a
//! [`Budget`]. [`sweep()`] removes objects of dead runs. `docs/design/docker.md` has the rules.

mod collector;
mod item;
mod layers;
mod lease;
mod leases;
mod ledger;
mod names;
mod notes;
mod policy;
mod pulls;
mod removal;
mod sweep;
mod usage;

pub use collector::{Collection, Collector};
pub use item::{Item, ItemKind, KeepReason, RemovalReason, Verdict};
pub use leases::JobLeases;
pub use ledger::Ledger;
pub(crate) use notes::ImagesBeforePull;
pub use policy::Budget;
pub use sweep::{ObjectOwner, SweepReport, sweep};
