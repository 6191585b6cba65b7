//! Images and volumes that jobs brought into an engine: what of them goes when, and why.
//!
//! A [`Ledger`] knows what is ours, [`JobLeases`] keep what a job uses, and a [`Collector`] removes
//! what a [`Budget`] has no room for. `docs/design/docker.md` tells the rules.

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
