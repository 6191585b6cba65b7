//! What a run on this machine makes of each keyword: one table, and what follows from it.
//!
//! A file may be right and yet ask for what only a server has, or what is not built yet. The
//! [`table`] says for each keyword whether a local run honours it, and in which [`Class`] it is if
//! not. Three things read it, so that they never disagree:
//!
//! - [`diagnose`] looks at a whole file for `lint`: nothing of this is ever an error there, because
//!   the file is right;
//! - [`check_job`] looks at one job, and [`check_plan`] at those of a run: a keyword of
//!   [`Class::Error`] refuses it before anything starts ([`Plan::check_local`](crate::Plan)), as the
//!   job would do something else than its author wrote;
//! - [`page`] is the table for people, `docs/book/src/keywords.md`.

mod class;
mod diagnose;
mod finding;
mod page;
mod plan;
mod row;
mod table;

pub use class::Class;
pub use diagnose::{CODE, diagnose};
pub use finding::{Finding, check_job};
pub use page::page;
pub use plan::{PlanFinding, check_plan};
pub use row::Row;
pub use table::table;
