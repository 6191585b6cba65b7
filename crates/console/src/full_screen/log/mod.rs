//! The log of a job as it is read on the full screen: backward and forward, folded, and searched.
//!
//! ```text
//! pieces -> Lines: whole lines -> Cleaner -> Blocks (a few KiB in memory, the rest in one file)
//!                             \-> Sections: where parts begin and end, and which are folded
//! ```

mod blocks;
mod job_log;
mod search;
mod sections;
mod store;

pub(super) use job_log::{JobLog, Row, RowKind};
pub(super) use search::{Direction, Found, Search};
pub(super) use store::Store;
