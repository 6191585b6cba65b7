//! One marked step.

use crate::action::{Side, action};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// All points of the program, from all linked crates.
#[linkme::distributed_slice]
pub static POINTS: [Point];

/// A step that a test can make fail; created by [`fail_point!`](crate::fail_point).
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

    /// Performs the action before the step and returns the number of the visit.
    ///
    /// # Errors
    ///
    /// When the action makes the step fail.
    ///
    /// # Panics
    ///
    /// When the variable's value is invalid.
    pub fn before(&self) -> io::Result<u64> {
        let visit = self.visits.fetch_add(1, Ordering::Relaxed) + 1;
        action().obey(self.name, Side::Before, visit)?;
        Ok(visit)
    }

    /// Performs the action after the step of that visit, whatever its result.
    ///
    /// # Panics
    ///
    /// Like [`before`](Self::before).
    pub fn after(&self, visit: u64) {
        let obeyed = action().obey(self.name, Side::After, visit);
        obeyed.expect("an error action applies before the step");
    }
}
