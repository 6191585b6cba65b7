//! The capacity that several providers reserved for a job.

use executor_core::ExecutorData;
use parking_lot::{Mutex, MutexGuard};

/// The capacity that one of several providers reserved for a job.
#[derive(Debug, Clone)]
pub(crate) struct Reservation {
    /// The index of the provider.
    pub(crate) provider: usize,
    /// The data from its `acquire`.
    pub(crate) data: ExecutorData,
}

/// All reservations of a job: the last provider runs it, the earlier ones have failed.
///
/// It is part of the job's data, so `release` finds all remaining reservations, even after a panic.
#[derive(Debug, Default)]
pub(crate) struct Reservations(Mutex<Vec<Reservation>>);

impl Reservations {
    pub(crate) fn new(first: Reservation) -> Self {
        Self(Mutex::new(vec![first]))
    }

    /// Returns the reservation of the provider that runs the job.
    pub(crate) fn current(&self) -> Option<Reservation> {
        self.lock().last().cloned()
    }

    pub(crate) fn add(&self, next: Reservation) {
        self.lock().push(next);
    }

    /// Takes a reservation of a failed provider.
    pub(crate) fn take_failed(&self) -> Option<Reservation> {
        let mut all = self.lock();
        (all.len() > 1).then(|| all.remove(0))
    }

    /// Takes any remaining reservation.
    pub(crate) fn take(&self) -> Option<Reservation> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Reservation>> {
        self.0.lock()
    }
}
