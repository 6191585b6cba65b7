//! Runs functions of the step language, one step after the other until one fails.
//!
//! | module | what |
//! |---|---|
//! | `frame` | what expressions may name, and where the environment of a step comes from |
//! | `locate` | from a reference to a function and its directory |
//! | `exchange` | the files by which a process gives outputs and exports |
//! | `process` | the processes that functions run |
//! | `words` | what texts stand for when their turn comes |
//! | `result` | what `FollowSteps` tells of all this |

mod engine;
mod exchange;
mod frame;
mod locate;
mod process;
mod result;
mod words;

pub(super) use engine::{Engine, Setting};
