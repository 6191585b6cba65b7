//! What a run on this machine makes of each keyword: one table, and what follows from it.
//!
//! A file may be right and yet ask for what only a server has, or what is not built yet. The
//! [`table`] says for each keyword whether a local run honours it, and in which [`Class`] it is if
//! not. Three things read it, so that they never disagree:
//!
//! - [`diagnose`] looks at a whole file for `lint`: nothing of this is ever an error there, because
//!   the file is right;
//! - [`check_job`] looks at one job for `run`: a keyword of [`Class::Error`] refuses the job before
//!   anything starts, as it would do something else than its author wrote;
//! - [`page`] is the table for people, `docs/book/src/keywords.md`.

mod class;
mod diagnose;
mod finding;
mod page;
mod row;
mod table;

pub use class::Class;
pub use diagnose::diagnose;
pub use finding::{Finding, check_job};
pub use page::page;
pub use row::Row;
pub use table::table;
