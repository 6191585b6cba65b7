//! The machine of one job, from `acquire` to `release`.

use crate::pool::{Lease, Pool, Promise, TakeError};
use executor_core::Cancellation;
use parking_lot::Mutex;
use std::sync::Arc;

/// A slot that is reserved for a job, or room for one.
#[derive(Debug)]
pub(crate) struct Ticket {
    pool: Pool,
    promise: Mutex<Option<Promise>>,
    /// Of the current attempt. The executor holds it too, for its cleanup.
    lease: Mutex<Option<Arc<Lease>>>,
}

impl Ticket {
    pub(crate) fn reserved(pool: Pool, lease: Lease) -> Self {
        Self {
            pool,
            promise: Mutex::default(),
            lease: Mutex::new(Some(Arc::new(lease))),
        }
    }

    pub(crate) fn on_demand(pool: Pool, promise: Promise) -> Self {
        Self {
            pool,
            promise: Mutex::new(Some(promise)),
            lease: Mutex::default(),
        }
    }

    /// Returns the reserved slot, or waits for one.
    pub(crate) async fn lease(&self, cancellation: &Cancellation) -> Result<Arc<Lease>, TakeError> {
        if let Some(lease) = self.lease.lock().clone() {
            return Ok(lease);
        }
        let promise = self.promise.lock().take();
        let lease = Arc::new(self.pool.take(promise, cancellation).await?);
        *self.lease.lock() = Some(Arc::clone(&lease));
        Ok(lease)
    }

    /// Returns the slot of a job that an earlier process has left on this machine. Gives back what is reserved, once it is there.
    pub(crate) async fn retake(
        &self,
        machine: &str,
        cancellation: &Cancellation,
    ) -> Result<Arc<Lease>, TakeError> {
        let taken = self.pool.retake(machine, cancellation).await;
        self.release();
        let lease = Arc::new(taken?);
        *self.lease.lock() = Some(Arc::clone(&lease));
        Ok(lease)
    }

    /// Frees what is held. A slot is free when the executor has dropped it too.
    pub(crate) fn release(&self) {
        drop(self.lease.lock().take());
        drop(self.promise.lock().take());
    }
}
