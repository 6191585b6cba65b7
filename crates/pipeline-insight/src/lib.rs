//! Questions about a plan, answered without running it.
//!
//! - [`explain`]: why a job is in the pipeline or not, and where its keywords and variables come from;
//! - [`affected`]: which jobs a change of files affects;
//! - [`forecast`]: how long a run will take, from how long its jobs usually take.
//!
//! All three are pure: they read a plan and what the caller passes, and return plain data.

pub mod affected;
pub mod explain;
pub mod forecast;
