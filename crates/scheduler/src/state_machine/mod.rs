//! The pure state machine of a pipeline.

mod machine;
mod needs;
mod node;
mod restore;
mod retry;
mod stages;
mod tally;

pub use machine::{Finish, Machine};
pub use retry::allowed as retries_allowed;
