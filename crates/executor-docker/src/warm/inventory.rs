//! The warm containers that exist and that are to be created, as pure decisions.

use std::time::Duration;
use tokio::sync::oneshot;

/// How many containers are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// For each kind.
    pub(super) each: usize,
    /// Of all kinds together.
    pub(super) all: usize,
    /// How long an unused one is kept.
    pub(super) idle: Duration,
}

/// Items of kinds `K`, ready or in creation.
#[derive(Debug)]
pub(super) struct Inventory<K, T> {
    slots: Vec<Slot<K, T>>,
    waiting: Vec<K>,
    next: u64,
    is_closed: bool,
}

/// One thing. The oldest wish comes first.
#[derive(Debug)]
struct Slot<K, T> {
    id: u64,
    kind: K,
    state: State<T>,
    /// Returns an unused item to its keeper, which removes it.
    home: oneshot::Sender<T>,
}

#[derive(Debug)]
enum State<T> {
    /// It waits for its turn to be created.
    Planned,
    Begun,
    Ready(T),
}

/// The answer to a request for an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Availability<T> {
    Ready(T),
    /// One is in creation and nobody else waits for it.
    Coming,
    Nothing,
}

impl<K, T> Default for Inventory<K, T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            waiting: Vec::new(),
            next: 0,
            is_closed: false,
        }
    }
}

impl<K: PartialEq + Clone, T> Inventory<K, T> {
    /// Adds a slot of this kind within the limits; returns its number and the channel that returns an unused item.
    ///
    /// When all slots are taken, the oldest ready item of another kind makes room.
    pub(super) fn plan(&mut self, kind: &K, limits: Limits) -> Option<(u64, oneshot::Receiver<T>)> {
        let of_kind = self.slots.iter().filter(|it| it.kind == *kind).count();
        if self.is_closed || of_kind >= limits.each || limits.all == 0 {
            return None;
        }
        while self.slots.len() >= limits.all {
            let is_other =
                |it: &Slot<K, T>| it.kind != *kind && matches!(it.state, State::Ready(_));
            let oldest = self.slots.iter().position(is_other)?;
            self.slots.remove(oldest).send_home();
        }
        let (home, back) = oneshot::channel();
        let id = self.next;
        self.next += 1;
        self.slots.push(Slot {
            id,
            kind: kind.clone(),
            state: State::Planned,
            home,
        });
        Some((id, back))
    }

    /// Marks the item as in creation. Returns whether it is still needed.
    pub(super) fn begin(&mut self, id: u64) -> bool {
        let slot = self.slots.iter_mut().find(|it| it.id == id);
        slot.is_some_and(|slot| {
            slot.state = State::Begun;
            true
        })
    }

    /// Stores a ready item; returns it when it is not needed any more.
    pub(super) fn put(&mut self, id: u64, thing: T) -> Option<T> {
        match self.slots.iter_mut().find(|it| it.id == id) {
            Some(slot) => {
                slot.state = State::Ready(thing);
                None
            }
            None => Some(thing),
        }
    }

    /// Takes an item of this kind.
    fn take(&mut self, kind: &K) -> Availability<T> {
        let is_ready = |it: &Slot<K, T>| it.kind == *kind && matches!(it.state, State::Ready(_));
        if let Some(found) = self.slots.iter().position(is_ready)
            && let State::Ready(thing) = self.slots.remove(found).state
        {
            return Availability::Ready(thing);
        }
        let is_begun = |it: &&Slot<K, T>| it.kind == *kind && matches!(it.state, State::Begun);
        let begun = self.slots.iter().filter(is_begun).count();
        let waiting = self.waiting.iter().filter(|it| *it == kind).count();
        if begun > waiting {
            Availability::Coming
        } else {
            Availability::Nothing
        }
    }

    /// Takes an item, or registers a wait for one in creation.
    pub(super) fn take_or_wait(&mut self, kind: &K) -> Availability<T> {
        let taken = self.take(kind);
        if matches!(taken, Availability::Coming) {
            self.waiting.push(kind.clone());
        }
        taken
    }

    /// Ends a wait.
    pub(super) fn leave(&mut self, kind: &K) {
        if let Some(found) = self.waiting.iter().position(|it| it == kind) {
            self.waiting.swap_remove(found);
        }
    }

    /// Removes a slot; returns its item.
    pub(super) fn vacate(&mut self, id: u64) -> Option<T> {
        let found = self.slots.iter().position(|it| it.id == id)?;
        match self.slots.remove(found).state {
            State::Ready(thing) => Some(thing),
            State::Planned | State::Begun => None,
        }
    }

    /// Returns all items; adds no more slots.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.slots.drain(..).for_each(Slot::send_home);
    }

    /// Returns how many are ready.
    pub(super) fn ready(&self) -> usize {
        let states = self.slots.iter().map(|it| &it.state);
        states.filter(|it| matches!(it, State::Ready(_))).count()
    }

    /// Returns whether one is to be made, or being made.
    pub(super) fn is_busy(&self) -> bool {
        self.ready() < self.slots.len()
    }
}

impl<K, T> Slot<K, T> {
    fn send_home(self) {
        if let State::Ready(thing) = self.state {
            // Whoever made it waits for it as long as it is here.
            let _ = self.home.send(thing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(each: usize, all: usize) -> Limits {
        Limits {
            each,
            all,
            idle: Duration::from_secs(1),
        }
    }

    fn ready(
        inventory: &mut Inventory<&'static str, u32>,
        kind: &'static str,
        thing: u32,
    ) -> oneshot::Receiver<u32> {
        let (id, back) = inventory.plan(&kind, limits(9, 9)).expect("there is room");
        assert!(inventory.begin(id));
        assert_eq!(inventory.put(id, thing), None);
        back
    }

    #[test]
    fn an_item_is_taken_once_by_its_kind() {
        let mut inventory = Inventory::default();
        let _back = (ready(&mut inventory, "a", 1), ready(&mut inventory, "a", 2));
        assert_eq!(inventory.take(&"b"), Availability::Nothing);
        assert_eq!(inventory.take(&"a"), Availability::Ready(1));
        assert_eq!(inventory.take(&"a"), Availability::Ready(2));
        assert_eq!(inventory.take(&"a"), Availability::Nothing);
    }

    #[test]
    fn limits_are_kept() {
        let mut inventory = Inventory::<_, u32>::default();
        assert!(inventory.plan(&"a", limits(0, 9)).is_none());
        assert!(inventory.plan(&"a", limits(9, 0)).is_none());
        let first = inventory.plan(&"a", limits(1, 2));
        assert!(first.is_some());
        assert!(inventory.plan(&"a", limits(1, 2)).is_none());
        let second = inventory.plan(&"b", limits(1, 2));
        assert!(second.is_some());
        // None of them is there yet, so none makes room.
        assert!(inventory.plan(&"c", limits(1, 2)).is_none());
    }

    #[test]
    fn the_oldest_of_another_kind_makes_room() {
        let mut inventory = Inventory::default();
        let mut backs = [
            ready(&mut inventory, "a", 1),
            ready(&mut inventory, "b", 2),
            ready(&mut inventory, "a", 3),
        ];
        assert!(inventory.plan(&"b", limits(9, 3)).is_some());
        assert_eq!(backs[0].try_recv(), Ok(1));
        assert_eq!(inventory.ready(), 2);
        // What a job takes does not go home.
        assert_eq!(inventory.take(&"b"), Availability::Ready(2));
        assert!(backs[1].try_recv().is_err());
    }

    #[test]
    fn one_job_waits_for_an_item_in_creation() {
        let mut inventory = Inventory::default();
        let (id, _back) = inventory.plan(&"a", limits(1, 1)).expect("there is room");
        assert_eq!(
            inventory.take(&"a"),
            Availability::Nothing,
            "it is not being made yet"
        );
        assert!(inventory.begin(id));
        assert_eq!(inventory.take_or_wait(&"a"), Availability::Coming);
        assert_eq!(inventory.take(&"a"), Availability::Nothing);
        inventory.leave(&"a");
        assert_eq!(inventory.take(&"a"), Availability::Coming);
        assert_eq!(inventory.put(id, 1), None);
        assert_eq!(inventory.take(&"a"), Availability::Ready(1));
    }

    #[test]
    fn close_returns_all_items_and_adds_none() {
        let mut inventory = Inventory::default();
        let mut back = ready(&mut inventory, "a", 1);
        let (id, _back) = inventory.plan(&"b", limits(1, 9)).expect("there is room");
        assert!(inventory.begin(id));
        inventory.close();
        assert_eq!(back.try_recv(), Ok(1));
        assert_eq!(inventory.put(id, 2), Some(2), "it is not needed any more");
        assert!(!inventory.begin(id));
        assert!(inventory.plan(&"a", limits(1, 9)).is_none());
        assert!(!inventory.is_busy());
    }

    #[test]
    fn a_vacated_slot_is_free_again() {
        let mut inventory = Inventory::default();
        let (id, _back) = inventory.plan(&"a", limits(1, 1)).expect("there is room");
        assert_eq!(inventory.vacate(id), None);
        let _back = ready(&mut inventory, "a", 7);
        assert!(inventory.is_busy() || inventory.ready() == 1);
        let id = id + 1;
        assert_eq!(inventory.vacate(id), Some(7));
        assert_eq!(inventory.vacate(id), None);
    }
}
