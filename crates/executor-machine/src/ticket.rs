//! The machine of one job, from `acquire` to `release`.

use crate::pool::{Lease, Pool, Promise, TakeError};
use executor_core::Cancellation;
use parking_lot::Mutex;
use std::sync::Arc;

/// How many machines that do not answer a job passes over.
const MOST_SILENT: u32 = 3;

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

    /// Returns the reserved slot, or waits for one, of a machine that answers.
    pub(crate) async fn lease(&self, cancellation: &Cancellation) -> Result<Arc<Lease>, TakeError> {
        for _ in 0..MOST_SILENT {
            let reserved = self.lease.lock().clone();
            let lease = if let Some(lease) = reserved {
                lease
            } else {
                let promise = self.promise.lock().take();
                let lease = Arc::new(self.pool.take(promise, cancellation).await?);
                *self.lease.lock() = Some(Arc::clone(&lease));
                lease
            };
            tokio::select! {
                answers = self.pool.verify(&lease) => if answers {
                    return Ok(lease);
                },
                cause = cancellation.canceled() => return Err(TakeError::Canceled(cause)),
            }
            // It gets no jobs until it answers again.
            self.release();
        }
        let message = format!("{MOST_SILENT} machines do not answer");
        Err(TakeError::Driver(message))
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
