use crate::key::Key;
use crate::{Answer, LibraryError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// What all who wait for the answer to one question get.
pub(super) type Flight = Arc<OnceCell<Result<Answer, LibraryError>>>;

/// The questions that are being asked now.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Key, Flight>>);

impl Flights {
    /// Returns what the question's answer will be in.
    pub(super) fn join(&self, key: Key) -> Flight {
        let mut flights = self.0.lock();
        Arc::clone(flights.entry(key).or_default())
    }

    /// Ends it: whoever asks from now on asks anew.
    pub(super) fn land(&self, key: Key, flight: &Flight) {
        let mut flights = self.0.lock();
        if flights.get(&key).is_some_and(|it| Arc::ptr_eq(it, flight)) {
            flights.remove(&key);
        }
    }
}
