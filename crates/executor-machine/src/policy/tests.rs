use super::*;
use crate::schedule::Idle;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn rule(idle: Idle, idle_time: u64) -> Rule {
    Rule {
        idle,
        idle_time: Duration::from_secs(idle_time),
        preemptive: false,
    }
}

/// A world of machines: what the pool is to the policy, without anything outside.
struct World {
    rule: Rule,
    limits: Limits,
    now: Duration,
    machines: BTreeMap<u32, Machine>,
    waiting: u32,
    created: u32,
}

#[derive(Debug, Clone)]
enum Event {
    /// A job wants a machine.
    Job,
    /// The nth of what goes on ends: a creation, a removal, a job.
    Ends(usize),
    /// A creation fails.
    Fails(usize),
    Passes(u64),
}

impl World {
    fn new(rule: Rule, limits: Limits) -> Self {
        Self {
            rule,
            limits,
            now: Duration::from_secs(1000),
            machines: BTreeMap::new(),
            waiting: 0,
            created: 0,
        }
    }

    fn decide(&self) -> Decision<u32> {
        let machines = self.machines.iter().map(|(key, machine)| (*key, machine));
        decide(machines, self.waiting, &self.rule, &self.limits, self.now)
    }

    fn count(&self, state: State) -> usize {
        let all = self.machines.values();
        all.filter(|machine| machine.state() == state).count()
    }

    fn nth(&self, state: State, nth: usize) -> Option<u32> {
        let all = self.machines.iter();
        let in_state = all.filter(|(_, machine)| machine.state() == state);
        let nth = nth % self.count(state).max(1);
        in_state.map(|(key, _)| *key).nth(nth)
    }

    /// Gives waiting jobs the slots that are free, does what is decided, and returns whether that was anything.
    fn act(&mut self) -> bool {
        for machine in self.machines.values_mut() {
            while self.waiting > 0 && machine.free(&self.limits) > 0 {
                machine.reserve(self.now);
                machine.start(self.now);
                self.waiting -= 1;
                if machine.jobs() == self.limits.jobs {
                    machine.retire(Reason::TooManyJobs);
                }
            }
        }
        let decision = self.decide();
        for (key, reason) in &decision.remove {
            let machine = self.machines.get_mut(key).unwrap();
            assert_eq!(machine.in_use(), 0, "a machine with a job is never removed");
            machine.remove(self.now, *reason);
        }
        for _ in 0..decision.create {
            self.created += 1;
            let machine = Machine::creating(self.now);
            self.machines.insert(self.created, machine);
        }
        let limits = &self.limits;
        let within = |limit: u32, count: usize| limit == 0 || count <= limit as usize;
        assert!(within(limits.machines, self.machines.len()));
        assert!(within(limits.growth, self.count(State::Creating)));
        decision.create > 0 || !decision.remove.is_empty()
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Job => self.waiting += 1,
            Event::Passes(seconds) => self.now += Duration::from_secs(seconds),
            Event::Fails(nth) => {
                if let Some(key) = self.nth(State::Creating, nth) {
                    let machine = self.machines.get_mut(&key).unwrap();
                    machine.remove(self.now, Reason::FailedToCreate);
                }
            }
            Event::Ends(nth) => {
                let going = [State::Creating, State::Used, State::Removing];
                let from = nth % going.len();
                let mut order = going[from..].iter().chain(&going[..from]);
                let found = order.find_map(|state| self.nth(*state, nth));
                let Some(key) = found else { return };
                let machine = self.machines.get_mut(&key).unwrap();
                match machine.state() {
                    State::Creating => machine.finish_creation(self.now),
                    State::Used => machine.end(self.now),
                    _ => drop(self.machines.remove(&key)),
                }
            }
        }
    }

    /// Lets everything end, until nothing happens any more.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let going = [State::Creating, State::Used, State::Removing];
            let ended = going.iter().any(|state| self.nth(*state, 0).is_some());
            if ended {
                self.happen(&Event::Ends(0));
            }
            let mut acted = self.act();
            if !ended && !acted {
                self.now += self.rule.idle_time;
                acted = self.act();
                if !acted {
                    return;
                }
            }
        }
        panic!("it does not come to rest: {:?}", self.decide());
    }
}

fn idles() -> impl Strategy<Value = Idle> {
    prop_oneof![
        (0_u32..6).prop_map(Idle::Fixed),
        (0.0..2.0, 0_u32..3, 0_u32..8).prop_map(|(factor, min, max)| Idle::Between {
            factor,
            min,
            max
        }),
        (0.0..2.0, 0_u32..6, 0_u32..4).prop_map(|(factor, limit, count)| Idle::AtLeast {
            factor,
            limit,
            count
        }),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let parts = (0_u32..8, 0_u32..4, 1_u32..4, 0_u32..4);
    parts.prop_map(|(machines, growth, slots, jobs)| Limits {
        machines,
        growth,
        slots,
        jobs,
        ..Limits::default()
    })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Job),
        4 => any::<usize>().prop_map(Event::Ends),
        1 => any::<usize>().prop_map(Event::Fails),
        2 => (0_u64..100).prop_map(Event::Passes),
    ];
    proptest::collection::vec(event, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever happens, the limits hold, and in the end there are the machines that are wanted.
    #[test]
    fn limits_hold_and_the_pool_comes_to_rest(
        idle in idles(),
        idle_time in 0_u64..60,
        limits in limits(),
        events in events(),
    ) {
        // R-EXEC-80
        let mut world = World::new(rule(idle, idle_time), limits);
        world.act();
        for event in events {
            world.happen(&event);
            world.act();
        }
        world.settle();
        prop_assert_eq!(world.waiting, 0);
        let decision = world.decide();
        let is_full = limits.machines > 0 && world.machines.len() == limits.machines as usize;
        prop_assert!(decision.free >= decision.wanted || is_full);
        for machine in world.machines.values() {
            prop_assert!(decision.free < decision.wanted + machine.free(&limits));
        }
        if limits.jobs == 0 {
            let wanted = decision.wanted.div_ceil(limits.slots);
            let most = if limits.machines == 0 { u32::MAX } else { limits.machines };
            prop_assert_eq!(world.machines.len(), wanted.min(most) as usize);
        }
        prop_assert_eq!(world.count(State::Idle), world.machines.len());
    }

    /// A pool at rest creates nothing that it removes afterwards: as long as the same jobs run, nothing changes.
    #[test]
    fn steady_load_keeps_the_machines(
        idle in idles(),
        idle_time in 0_u64..60,
        limits in limits(),
        jobs in 0_u32..20,
    ) {
        let limits = Limits { jobs: 0, ..limits };
        let mut world = World::new(rule(idle, idle_time), limits);
        world.waiting = jobs;
        for _ in 0..200 {
            world.act();
            // Machines come and go, and jobs stay.
            while let Some(key) = world.nth(State::Creating, 0) {
                world.machines.get_mut(&key).unwrap().finish_creation(world.now);
            }
            world.machines.retain(|_, machine| machine.state() != State::Removing);
            world.now += Duration::from_secs(1);
        }
        let (created, present) = (world.created, world.machines.len());
        for _ in 0..200 {
            prop_assert!(!world.act(), "{:?}", world.decide());
            world.now += Duration::from_secs(1);
        }
        prop_assert_eq!((world.created, world.machines.len()), (created, present));
    }
}

#[test]
fn taken_machine_is_replaced() {
    // R-EXEC-78
    let mut world = World::new(rule(Idle::Fixed(2), 0), Limits::default());
    world.settle();
    world.happen(&Event::Job);
    world.act();
    assert_eq!(world.count(State::Used), 1);
    assert_eq!(world.count(State::Idle), 1);
    assert_eq!(world.count(State::Creating), 1);
}

#[test]
fn longest_idle_machine_expires_first() {
    let mut world = World::new(rule(Idle::Fixed(1), 60), Limits::default());
    world.act();
    world.happen(&Event::Ends(0));
    let mut newer = Machine::creating(world.now);
    world.now += Duration::from_secs(10);
    newer.finish_creation(world.now);
    world.machines.insert(99, newer);
    let decision = world.decide();
    assert_eq!(decision.remove, []);
    let (key, end) = decision.expire[0];
    assert_eq!((key, decision.expire.len()), (1, 1));
    world.now = end.saturating_sub(Duration::from_millis(1));
    assert_eq!(world.decide().remove, []);
    world.now = end;
    assert_eq!(world.decide().remove, [(1, Reason::TooManyIdle)]);
}

#[test]
fn lowered_limit_removes_idle_machines_at_once() {
    let mut world = World::new(rule(Idle::Fixed(3), 600), Limits::default());
    world.settle();
    world.limits.machines = 2;
    assert_eq!(world.decide().remove, [(1, Reason::TooManyMachines)]);
    assert_eq!(world.decide().create, 0);
}
