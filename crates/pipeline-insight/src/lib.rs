//! Questions about a plan, answered without running it.
//!
//! - [`explain`]: why a job is included or not, and the origins of its keywords and variables;
//! - [`affected`]: which jobs a change of files affects;
//! - [`forecast`]: how long a run will take, estimated from the usual durations of its jobs.
//!
//! All three only read a plan and the arguments, and return plain data.

pub mod affected;
pub mod explain;
pub mod forecast;
