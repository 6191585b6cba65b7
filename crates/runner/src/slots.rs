//! The number of jobs that the process may run at a time (`concurrent`), and that of a runner's turns (`limit`).

use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The slots of a process; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    size: Arc<Mutex<Size>>,
}

#[derive(Debug)]
struct Size {
    total: usize,
    /// Slots that go as soon as their jobs end: the number was lowered.
    surplus: usize,
}

/// A taken slot; free again when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    size: Arc<Mutex<Size>>,
}

impl Slots {
    pub(crate) fn new(total: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(total)),
            size: Arc::new(Mutex::new(Size { total, surplus: 0 })),
        }
    }

    /// Waits until a slot is free, and leaves it free.
    pub(crate) async fn wait_for_one(&self) {
        drop(self.take().await);
    }

    /// Takes a slot, the first caller first.
    pub(crate) async fn take(&self) -> Slot {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        Slot {
            permit: Some(permit.expect("the semaphore is never closed")),
            size: Arc::clone(&self.size),
        }
    }

    /// Changes the number of slots. Jobs that run are not affected.
    pub(crate) fn resize(&self, total: usize) {
        let mut size = self.size.lock();
        let (before, now) = (size.total, total);
        size.total = total;
        if now >= before {
            let kept = size.surplus.min(now - before);
            size.surplus -= kept;
            self.free.add_permits(now - before - kept);
        } else {
            let forgotten = self.free.forget_permits(before - now);
            size.surplus += before - now - forgotten;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut size = self.size.lock();
        if size.surplus > 0 {
            size.surplus -= 1;
            if let Some(permit) = self.permit.take() {
                permit.forget();
            }
        }
    }
}

/// The turns of a runner, which outlive a change of its settings. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnCount(watch::Sender<usize>);

/// One turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedTurn(TurnCount);

impl TurnCount {
    pub(crate) fn number(&self) -> usize {
        *self.0.borrow()
    }

    pub(crate) fn enter(&self) -> CountedTurn {
        self.0.send_modify(|it| *it += 1);
        CountedTurn(self.clone())
    }

    /// Waits until there are fewer turns than now.
    pub(crate) async fn fewer(&self) {
        let (mut number, now) = (self.0.subscribe(), self.number());
        // A sender is here, so the channel is open.
        let _ = number.wait_for(|it| *it < now).await;
    }
}

impl Drop for CountedTurn {
    fn drop(&mut self) {
        self.0.0.send_modify(|it| *it -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn number_of_slots_changes_around_running_jobs() {
        let slots = Slots::new(2);
        let first = slots.take().await;
        let second = slots.take().await;
        slots.resize(1);
        drop(first);
        assert_eq!(slots.free.available_permits(), 0);
        slots.resize(3);
        assert_eq!(slots.free.available_permits(), 2);
        drop(second);
        assert_eq!(slots.free.available_permits(), 3);
        slots.resize(1);
        assert_eq!(slots.free.available_permits(), 1);
        slots.wait_for_one().await;
    }
}
