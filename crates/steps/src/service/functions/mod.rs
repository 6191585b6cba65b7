//! Runs functions of the step language, one step after the other until one fails.
//!
//! | module | what |
//! |---|---|
//! | `frame` | what expressions may name, and where the environment of a step comes from |
//! | `call` | a step of a sequence: what it refers to, with what it is given |
//! | `locate` | from a reference to a function and its directory |
//! | `tree` | files that somebody outside of the environment has brought |
//! | `builtin` | functions that come with the service |
//! | `exchange` | the files by which a process gives outputs and exports |
//! | `process` | the processes that functions run |
//! | `secrets` | what of the values the log must not show |
//! | `words` | what texts stand for when their turn comes |
//! | `result` | what `FollowSteps` tells of all this |

mod builtin;
mod call;
mod engine;
mod exchange;
mod frame;
mod locate;
mod process;
mod result;
mod secrets;
mod tree;
mod words;

pub(super) use engine::{Engine, Setting};
