//! A counter of permits in use.

use executor_core::{CancelCause, Cancellation};
use parking_lot::{Mutex, MutexGuard};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Notify;

/// Counts the permits in use and wakes the tasks that wait for one.
///
/// The limit is a parameter of each request and may change between requests.
#[derive(Debug, Default)]
pub(crate) struct PermitCounter {
    taken: Mutex<u32>,
    freed: Notify,
}

/// A permit, released when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counter: Arc<PermitCounter>,
}

impl PermitCounter {
    /// Takes a permit when fewer than `limit` are in use; a limit of 0 means no limit.
    pub(crate) fn try_take(self: &Arc<Self>, limit: u32) -> Option<Permit> {
        let mut taken = self.lock();
        if limit != 0 && *taken >= limit {
            return None;
        }
        *taken += 1;
        Some(Permit {
            counter: Arc::clone(self),
        })
    }

    /// Waits for a permit; fails when a stop is requested.
    pub(crate) async fn take(
        self: &Arc<Self>,
        limit: u32,
        cancellation: &Cancellation,
    ) -> Result<Permit, CancelCause> {
        loop {
            cancellation.check()?;
            let mut freed = pin!(self.freed.notified());
            // No wake-up is lost from here on, so a permit released after the check is not missed.
            freed.as_mut().enable();
            if let Some(permit) = self.try_take(limit) {
                return Ok(permit);
            }
            tokio::select! {
                () = freed => {}
                _ = cancellation.canceled() => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.taken.lock()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.counter.lock() -= 1;
        // All tasks are woken, because a single one may just have stopped waiting.
        self.counter.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;

    #[test]
    fn refuses_at_the_limit_until_a_permit_is_released() {
        let counter = Arc::new(PermitCounter::default());
        let permits = [counter.try_take(2), counter.try_take(2)];
        assert!(permits.iter().all(Option::is_some));
        assert!(counter.try_take(2).is_none());
        assert!(
            counter.try_take(3).is_some(),
            "the limit is that of the request"
        );
        drop(permits);
        assert!(counter.try_take(1).is_some());
    }

    #[test]
    fn zero_means_no_limit() {
        let counter = Arc::new(PermitCounter::default());
        let permits: Vec<_> = (0..100).map(|_| counter.try_take(0)).collect();
        assert!(permits.iter().all(Option::is_some));
        assert!(
            counter.try_take(100).is_none(),
            "they are counted without a limit too"
        );
    }

    #[tokio::test]
    async fn released_permits_wake_waiting_tasks() {
        let counter = Arc::new(PermitCounter::default());
        let go_on = Cancellation::new();
        let (first, second) = (counter.try_take(2), counter.try_take(2));
        let (third, fourth, ()) =
            tokio::join!(counter.take(2, &go_on), counter.take(2, &go_on), async {
                drop((first, second));
            });
        assert!(third.is_ok() && fourth.is_ok());
    }

    #[tokio::test]
    async fn cancelled_wait_takes_no_permit() {
        let counter = Arc::new(PermitCounter::default());
        let (go_on, stopped) = (Cancellation::new(), Cancellation::new());
        let permit = counter.try_take(1);
        let (none, some, ()) =
            tokio::join!(counter.take(1, &stopped), counter.take(1, &go_on), async {
                stopped.cancel(CancelCause::Shutdown);
                drop(permit);
            });
        assert!(none.is_err());
        assert!(some.is_ok());
    }
}
