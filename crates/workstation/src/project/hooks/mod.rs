//! A hook of git that runs, before a push, what the push touches.
//!
//! Of a hook that is there already, everything keeps running: lines are put into a shell script, and
//! any other program is moved aside and called. Taking ours away gives it back byte for byte.

mod error;
mod manager;
mod push_hook;
mod pushed;
mod script;

pub use error::HookError;
pub use manager::HookManager;
pub use push_hook::{HookState, PushHook};
pub use pushed::{Pushed, PushedRef};
