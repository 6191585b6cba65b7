//! Marks the steps with outside effects, so that a test can make each of them fail.
//!
//! ```
//! use std::{fs, io, path::Path};
//!
//! fn publish(partial: &Path, target: &Path) -> io::Result<()> {
//!     fail_point::fail_point!("example::publish", fs::rename(partial, target))
//! }
//! # let dir = tempfile::tempdir()?;
//! # fs::write(dir.path().join("a"), "")?;
//! # publish(&dir.path().join("a"), &dir.path().join("b"))?;
//! # io::Result::Ok(())
//! ```
//!
//! A step creates, changes or removes a resource that outlives the program, or calls another program.
//! Without the feature `enabled`, the macro expands to its step only. With it, the environment variable
//! [`VARIABLE`] selects an action at one of the points:
//!
//! | value | effect |
//! |---|---|
//! | `kill before NAME`, `kill after NAME` | the program is killed by SIGKILL before or after the step |
//! | `kill before NAME 3` | the same, but at the third visit |
//! | `error at NAME` | the step is skipped and returns an error that names the point |
//! | `error at NAME 3` | the same, from the third visit on |
//! | `pause before NAME FILE`, `pause after NAME FILE` | the thread waits until the pipe FILE is opened for writing and closed |
//! | `record FILE` | FILE lists all points of the program and every visit |
//!
//! Cargo unifies features, so the build of a binary enables the points of all its crates.

#[cfg(feature = "enabled")]
mod action;
#[cfg(feature = "enabled")]
mod point;

#[cfg(feature = "enabled")]
pub use point::{POINTS, Point};

// The macro expands to it in other crates.
#[cfg(feature = "enabled")]
#[doc(hidden)]
pub use linkme;

/// The environment variable with the action.
pub const VARIABLE: &str = "RUNWRIGHT_FAIL_POINT";

/// Runs a step that a test can make fail.
///
/// The name is `crate::noun::step`. The step is an expression of a type `Result<_, E>` where `E` can
/// be made from an [`io::Error`](std::io::Error); it may hold `.await`, `?` and `return`.
#[cfg(not(feature = "enabled"))]
#[macro_export]
macro_rules! fail_point {
    ($name:literal, $step:expr) => {
        $step
    };
}

/// Runs a step that a test can make fail.
///
/// The name is `crate::noun::step`. The step is an expression of a type `Result<_, E>` where `E` can
/// be made from an [`io::Error`](std::io::Error); it may hold `.await`, `?` and `return`.
#[cfg(feature = "enabled")]
#[macro_export]
macro_rules! fail_point {
    ($name:literal, $step:expr) => {{
        #[$crate::linkme::distributed_slice($crate::POINTS)]
        #[linkme(crate = $crate::linkme)]
        static POINT: $crate::Point = $crate::Point::new($name);
        match POINT.before() {
            Ok(visit) => {
                let result = $step;
                POINT.after(visit);
                result
            }
            Err(error) => Err(::std::convert::From::from(error)),
        }
    }};
}
