//! How a local run treats each keyword: one table, and the checks derived from it.
//!
//! A valid file may need features that only a server has, or that are not implemented yet. The
//! table ([`file_keywords`], [`job_keywords`]) gives the [`Class`] of each keyword: whether a local run supports it, and the
//! consequence if not. Everything that concerns local support derives from it:
//!
//! - [`diagnose`] checks a whole file for `lint`, which reports no errors because the file is
//!   valid;
//! - [`check_job`] checks one job and [`check_plan`] those of a run: a keyword of [`Class::Error`]
//!   refuses its job before anything starts ([`Plan::check_local`](crate::Plan)), because the job
//!   would not do what its author wrote;
//! - the page `docs/book/src/keywords.md` of the guide shows the table.

mod deviation;
mod diagnose;
mod plan;
mod row;
mod table;

pub use deviation::{Deviation, check_job};
pub use diagnose::{CODE, diagnose};
pub use plan::{PlanDeviation, check_plan};
pub use row::{Class, Row};
pub use table::{file_keywords, job_keywords};
