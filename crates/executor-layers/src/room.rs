//! Counting what is in use at once.

use executor_core::Cancellation;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Counts the seats that are taken, and wakes those who wait for one.
///
/// How many there are is said with each request and may change between two.
#[derive(Debug, Default)]
pub(crate) struct Room {
    taken: Mutex<u32>,
    freed: Notify,
}

/// A place in a room, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    room: Arc<Room>,
}

impl Room {
    /// Takes a seat when fewer than `limit` are taken; a limit of 0 means any number.
    pub(crate) fn try_take(self: &Arc<Self>, limit: u32) -> Option<Seat> {
        let mut taken = self.lock();
        if limit != 0 && *taken >= limit {
            return None;
        }
        *taken += 1;
        Some(Seat {
            room: Arc::clone(self),
        })
    }

    /// Waits for a seat; returns `None` when a stop is asked for.
    pub(crate) async fn take(
        self: &Arc<Self>,
        limit: u32,
        cancellation: &Cancellation,
    ) -> Option<Seat> {
        while !cancellation.is_canceled() {
            let mut freed = pin!(self.freed.notified());
            // From here on no wake-up is lost, so a seat freed after the look is not missed.
            freed.as_mut().enable();
            if let Some(seat) = self.try_take(limit) {
                return Some(seat);
            }
            tokio::select! {
                () = freed => {}
                () = cancellation.canceled() => {}
            }
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        *self.room.lock() -= 1;
        // All of them look, because one alone may have stopped waiting just now.
        self.room.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;

    #[test]
    fn a_full_room_has_no_seat_until_one_is_left() {
        let room = Arc::new(Room::default());
        let seats = [room.try_take(2), room.try_take(2)];
        assert!(seats.iter().all(Option::is_some));
        assert!(room.try_take(2).is_none());
        assert!(
            room.try_take(3).is_some(),
            "the limit is that of the request"
        );
        drop(seats);
        assert!(room.try_take(1).is_some());
    }

    #[test]
    fn without_a_limit_there_is_always_a_seat() {
        let room = Arc::new(Room::default());
        let seats: Vec<_> = (0..100).map(|_| room.try_take(0)).collect();
        assert!(seats.iter().all(Option::is_some));
        assert!(
            room.try_take(100).is_none(),
            "they are counted all the same"
        );
    }

    #[tokio::test]
    async fn every_seat_that_is_left_is_taken_by_one_who_waits() {
        let room = Arc::new(Room::default());
        let go_on = Cancellation::new();
        let (first, second) = (room.try_take(2), room.try_take(2));
        let (third, fourth, ()) = tokio::join!(room.take(2, &go_on), room.take(2, &go_on), async {
            drop((first, second));
        });
        assert!(third.is_some() && fourth.is_some());
    }

    #[tokio::test]
    async fn who_stops_waiting_takes_nothing_from_the_next() {
        let room = Arc::new(Room::default());
        let (go_on, stopped) = (Cancellation::new(), Cancellation::new());
        let seat = room.try_take(1);
        let (none, some, ()) = tokio::join!(room.take(1, &stopped), room.take(1, &go_on), async {
            stopped.cancel(CancelCause::Shutdown);
            drop(seat);
        });
        assert!(none.is_none());
        assert!(some.is_some());
    }
}
