//! Which containers there are ahead of their jobs, and which are to be made: the decisions alone.

use std::time::Duration;
use tokio::sync::oneshot;

/// How many are kept, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// For each kind.
    pub(super) each: usize,
    /// Of all kinds together.
    pub(super) all: usize,
    /// How long one that nobody takes is kept.
    pub(super) idle: Duration,
}

/// Things of kinds `K`, ready or being made.
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
    /// Leads to who made it, and removes it when no job takes it.
    home: oneshot::Sender<T>,
}

#[derive(Debug)]
enum State<T> {
    /// It waits for its turn to be made.
    Planned,
    Begun,
    Ready(T),
}

/// What somebody gets who wants a thing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Availability<T> {
    Ready(T),
    /// One is being made that nobody else waits for.
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
    /// Makes a place for one more of this kind, where there is to be one: returns its number, and what leads
    /// back the thing that no job takes.
    ///
    /// Where all places are taken, the oldest of another kind makes room, if it is ready.
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

    /// Notes that it is being made. Returns whether it is still wanted.
    pub(super) fn begin(&mut self, id: u64) -> bool {
        let slot = self.slots.iter_mut().find(|it| it.id == id);
        slot.is_some_and(|slot| {
            slot.state = State::Begun;
            true
        })
    }

    /// Notes that it is there; gives it back when nobody wants it any more.
    pub(super) fn put(&mut self, id: u64, thing: T) -> Option<T> {
        match self.slots.iter_mut().find(|it| it.id == id) {
            Some(slot) => {
                slot.state = State::Ready(thing);
                None
            }
            None => Some(thing),
        }
    }

    /// Takes one of this kind for good.
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

    /// The same, and notes who waits for one that is coming.
    pub(super) fn take_or_wait(&mut self, kind: &K) -> Availability<T> {
        let taken = self.take(kind);
        if matches!(taken, Availability::Coming) {
            self.waiting.push(kind.clone());
        }
        taken
    }

    /// Notes that somebody does not wait any more.
    pub(super) fn leave(&mut self, kind: &K) {
        if let Some(found) = self.waiting.iter().position(|it| it == kind) {
            self.waiting.swap_remove(found);
        }
    }

    /// Gives up a slot; returns what was there.
    pub(super) fn vacate(&mut self, id: u64) -> Option<T> {
        let found = self.slots.iter().position(|it| it.id == id)?;
        match self.slots.remove(found).state {
            State::Ready(thing) => Some(thing),
            State::Planned | State::Begun => None,
        }
    }

    /// Sends everything home; from now on there are no slots.
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
    fn each_is_taken_once_and_by_its_kind_alone() {
        let mut inventory = Inventory::default();
        let _back = (ready(&mut inventory, "a", 1), ready(&mut inventory, "a", 2));
        assert_eq!(inventory.take(&"b"), Availability::Nothing);
        assert_eq!(inventory.take(&"a"), Availability::Ready(1));
        assert_eq!(inventory.take(&"a"), Availability::Ready(2));
        assert_eq!(inventory.take(&"a"), Availability::Nothing);
    }

    #[test]
    fn there_are_never_more_than_the_limits_say() {
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
    fn one_that_is_coming_is_waited_for_by_one_alone() {
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
    fn at_the_end_all_goes_home_and_nothing_comes_after() {
        let mut inventory = Inventory::default();
        let mut back = ready(&mut inventory, "a", 1);
        let (id, _back) = inventory.plan(&"b", limits(1, 9)).expect("there is room");
        assert!(inventory.begin(id));
        inventory.close();
        assert_eq!(back.try_recv(), Ok(1));
        assert_eq!(inventory.put(id, 2), Some(2), "nobody wants it any more");
        assert!(!inventory.begin(id));
        assert!(inventory.plan(&"a", limits(1, 9)).is_none());
        assert!(!inventory.is_busy());
    }

    #[test]
    fn a_place_that_is_given_up_is_free_again() {
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
