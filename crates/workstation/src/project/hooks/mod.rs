//! A pre-push hook that runs the jobs that the push touches.
//!
//! An existing hook keeps running: a shell script gets additional lines, and any other program is moved aside and
//! called. Uninstalling restores it byte for byte.

mod error;
mod manager;
mod push_hook;
mod pushed;
mod script;

pub use error::HookError;
pub use manager::HookManager;
pub use push_hook::{HookState, PushHook};
pub use pushed::{Pushed, PushedRef};
