//! Marks the steps that reach outside the program, so that a test can fail each of them.
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
//! A step is anything that makes, changes or removes something which outlives the program, or that
//! calls another program. Without the feature `enabled` the macro is its step and nothing else.
//! With it, the environment variable [`VARIABLE`] says what happens at one of the points:
//!
//! | value | effect |
//! |---|---|
//! | `kill before NAME`, `kill after NAME` | the program is killed by SIGKILL there and then |
//! | `kill before NAME 3` | the same, but at the third visit |
//! | `error at NAME` | the step is not taken, and returns an error that names the point |
//! | `error at NAME 3` | the same, from the third visit on |
//! | `pause before NAME FILE`, `pause after NAME FILE` | the thread waits until the pipe FILE was opened for writing and closed |
//! | `record FILE` | FILE lists all points of the program, and every one that is reached |
//!
//! Cargo unites features, so whoever builds the binary turns on the points of all crates in it.

#[cfg(feature = "enabled")]
mod action;
#[cfg(feature = "enabled")]
mod point;
#[cfg(feature = "enabled")]
mod record;

#[cfg(feature = "enabled")]
pub use point::{POINTS, Point};

// The macro names it in the crates that use the macro.
#[cfg(feature = "enabled")]
#[doc(hidden)]
pub use linkme;

/// The environment variable that says what happens, and where.
pub const VARIABLE: &str = "RUNWRIGHT_FAIL_POINT";

/// Takes a step, which a test can make fail.
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

/// Takes a step, which a test can make fail.
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
