//! One marked step.

use crate::action::{Side, action};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// All points of the program: what is linked into it, whichever crate it comes from.
#[linkme::distributed_slice]
pub static POINTS: [Point];

/// A step that a test can make fail; made by [`fail_point!`](crate::fail_point).
#[derive(Debug)]
pub struct Point {
    name: &'static str,
    visits: AtomicU64,
}

impl Point {
    /// Returns the point with this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            visits: AtomicU64::new(0),
        }
    }

    /// Returns its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Does what is asked for before the step, and returns which visit of the point this is.
    ///
    /// # Errors
    ///
    /// When the step is to fail.
    ///
    /// # Panics
    ///
    /// When the variable says what cannot be understood.
    pub fn before(&self) -> io::Result<u64> {
        let visit = self.visits.fetch_add(1, Ordering::Relaxed) + 1;
        action().obey(self.name, Side::Before, visit)?;
        Ok(visit)
    }

    /// Does what is asked for after the step of that visit, however it ended.
    ///
    /// # Panics
    ///
    /// As [`before`](Self::before).
    pub fn after(&self, visit: u64) {
        let obeyed = action().obey(self.name, Side::After, visit);
        obeyed.expect("only a step that is not taken can be made to fail");
    }
}
