//! The policy on virtual time: what a fleet would cost, and how long its jobs would wait.

use crate::machine::{Machine, Reason, State};
use crate::options::PoolOptions;
use crate::policy::decide;
use crate::throttle::Pace;
use jiff::{SignedDuration, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::time::Duration;

/// A job of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulatedJob {
    /// When it is created.
    pub created_at: Timestamp,
    /// How long it runs.
    pub duration: Duration,
}

/// How the machines of a simulation behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cloud {
    /// How long a machine takes to be ready.
    pub boot: Duration,
    /// How long it takes to be removed.
    pub removal: Duration,
}

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// How long each job waited, the shortest time first.
    pub waits: Vec<Duration>,
    /// How many machines were created.
    pub created: u32,
    /// How many there were at once at most.
    pub most: u32,
    /// The time of all machines together, from the beginning of their creation to the end of their removal.
    pub machine_time: Duration,
    /// The time of all jobs together.
    pub job_time: Duration,
    /// The numbers in the course of time: after each decision that changed them.
    pub course: Vec<Sample>,
}

/// The numbers at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The time since the first job was created.
    pub at: Duration,
    /// Machines in all states.
    pub machines: u32,
    /// Jobs that run.
    pub running: u32,
    /// Jobs that wait.
    pub waiting: u32,
}

/// The shortest time between two decisions. The pool decides after each event; a busy fleet has several in a second.
const ROUND: Duration = Duration::from_secs(1);

/// How long jobs wait for a period with machines. It is longer than a week.
const HOPELESS: Duration = Duration::from_hours(8 * 24);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Booted(u32),
    Ended(u32),
    Removed(u32),
}

struct Fleet<'o> {
    options: &'o PoolOptions,
    cloud: Cloud,
    first: Timestamp,
    /// When an event happens, since the Unix epoch.
    events: BinaryHeap<Reverse<(Duration, Event)>>,
    machines: BTreeMap<u32, Machine>,
    /// Machines with a free slot: the one with the most jobs last, then the one that changed last.
    free: BTreeSet<(u32, Duration, u32)>,
    waiting: VecDeque<SimulatedJob>,
    running: u32,
    /// When the next decision is.
    due: Option<Duration>,
    pace: Pace,
    /// When it may be at the earliest.
    round_ends: Duration,
    result: Simulation,
}

/// Returns what the pool would do for these jobs, in the order of their creation.
///
/// A job starts as soon as a slot is free. With machines on demand, jobs that wait have machines created for them; with idle
/// machines, they wait in GitLab's queue and the policy does not know them, as in the pool. The simulation ends with the last
/// job, and the machines that are there then count up to that moment.
pub fn simulate(jobs: &[SimulatedJob], options: &PoolOptions, cloud: Cloud) -> Simulation {
    let first = jobs
        .first()
        .map_or(Timestamp::UNIX_EPOCH, |job| job.created_at);
    let mut fleet = Fleet {
        options,
        cloud,
        first,
        events: BinaryHeap::new(),
        machines: BTreeMap::new(),
        free: BTreeSet::new(),
        waiting: VecDeque::new(),
        running: 0,
        due: Some(since_epoch(first)),
        pace: Pace::default(),
        round_ends: Duration::ZERO,
        result: Simulation {
            waits: Vec::with_capacity(jobs.len()),
            created: 0,
            most: 0,
            machine_time: Duration::ZERO,
            job_time: Duration::ZERO,
            course: Vec::new(),
        },
    };
    let mut jobs = jobs.iter().peekable();
    let mut now = since_epoch(first);
    let mut last_event = now;
    while jobs.peek().is_some() || !fleet.waiting.is_empty() || fleet.running > 0 {
        let arrival = jobs.peek().map(|job| since_epoch(job.created_at));
        let event = fleet.events.peek().map(|Reverse((at, _))| *at);
        let times = [arrival, event, fleet.due];
        // Without any, jobs wait for ever: a limit leaves no room for a machine.
        let Some(next) = times.into_iter().flatten().min() else {
            break;
        };
        if arrival.is_none() && event.is_none() && next > last_event + HOPELESS {
            break;
        }
        now = now.max(next);
        if arrival == Some(next) {
            fleet.waiting.extend(jobs.next());
        } else if event == Some(next)
            && let Some(Reverse((_, event))) = fleet.events.pop()
        {
            fleet.happen(event, now);
        } else {
            fleet.decide(now);
            continue;
        }
        last_event = now;
        fleet.start_jobs(now);
        let due = now.max(fleet.round_ends);
        fleet.due = Some(fleet.due.map_or(due, |earlier| earlier.min(due)));
    }
    fleet.finish(now)
}

fn since_epoch(time: Timestamp) -> Duration {
    Duration::try_from(time.as_duration()).unwrap_or_default()
}

impl Fleet<'_> {
    fn happen(&mut self, event: Event, now: Duration) {
        match event {
            Event::Booted(key) => self.change(key, |machine| machine.finish_creation(now)),
            Event::Ended(key) => {
                self.running -= 1;
                self.change(key, |machine| machine.end(now));
            }
            Event::Removed(key) => drop(self.machines.remove(&key)),
        }
    }

    /// Changes a machine, and its place among those with a free slot.
    fn change(&mut self, key: u32, change: impl FnOnce(&mut Machine)) {
        let Some(machine) = self.machines.get_mut(&key) else {
            return;
        };
        self.free.remove(&(machine.in_use(), machine.since(), key));
        change(machine);
        if machine.free(&self.options.limits) > 0 {
            self.free.insert((machine.in_use(), machine.since(), key));
        }
    }

    fn start_jobs(&mut self, now: Duration) {
        while !self.waiting.is_empty() {
            let Some((_, _, key)) = self.free.last().copied() else {
                return;
            };
            let Some(job) = self.waiting.pop_front() else {
                return;
            };
            self.running += 1;
            self.result.job_time += job.duration;
            self.result
                .waits
                .push(now.saturating_sub(since_epoch(job.created_at)));
            self.events.push(Reverse((
                now.saturating_add(job.duration),
                Event::Ended(key),
            )));
            let limits = &self.options.limits;
            self.change(key, |machine| {
                machine.reserve(now);
                machine.start(now);
                if limits.jobs_left(machine.jobs()) == 0 {
                    machine.retire(Reason::TooManyJobs);
                }
            });
        }
    }

    fn decide(&mut self, now: Duration) {
        self.round_ends = now + ROUND;
        let time = Timestamp::from_duration(SignedDuration::try_from(now).unwrap_or_default());
        let rule = self.options.schedule.rule_at(time.unwrap_or(self.first));
        let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        let known = if rule.preemptive { 0 } else { waiting };
        let machines = self.machines.iter().map(|(key, machine)| (*key, machine));
        let decision = decide(machines, known, rule, &self.options.limits, now);
        for (key, reason) in &decision.remove {
            self.change(*key, |machine| machine.remove(now, *reason));
            let began = self.machines.get(key).map_or(now, Machine::created);
            let gone = now.saturating_add(self.cloud.removal);
            self.result.machine_time += gone.saturating_sub(began);
            self.events.push(Reverse((gone, Event::Removed(*key))));
        }
        let throttle = self.options.throttle.as_ref();
        let (create, more) = self.pace.take(throttle, decision.create, now);
        for _ in 0..create {
            self.result.created += 1;
            let key = self.result.created;
            self.machines.insert(key, Machine::creating(now));
            self.events.push(Reverse((
                now.saturating_add(self.cloud.boot),
                Event::Booted(key),
            )));
        }
        let next = decision.expire.first().map(|(_, end)| *end);
        let is_scheduled = !self.options.schedule.entries.is_empty();
        let minute = is_scheduled.then(|| now + Duration::from_mins(1));
        let next = next.into_iter().chain(minute).chain(more).min();
        self.due = next.map(|next| next.max(self.round_ends));
        self.note(now, waiting);
    }

    fn note(&mut self, now: Duration, waiting: u32) {
        let machines = u32::try_from(self.machines.len()).unwrap_or(u32::MAX);
        self.result.most = self.result.most.max(machines);
        let sample = Sample {
            at: now.saturating_sub(since_epoch(self.first)),
            machines,
            running: self.running,
            waiting,
        };
        let last = self.result.course.last();
        if last.is_none_or(|last| {
            Sample {
                at: sample.at,
                ..*last
            } != sample
        }) {
            self.result.course.push(sample);
        }
    }

    fn finish(mut self, now: Duration) -> Simulation {
        for machine in self.machines.values() {
            if machine.state() != State::Removing {
                self.result.machine_time += now.saturating_sub(machine.created());
            }
        }
        self.note(now, u32::try_from(self.waiting.len()).unwrap_or(u32::MAX));
        self.result.waits.sort_unstable();
        self.result
    }
}

impl Simulation {
    /// Returns the wait that this part of the jobs, from 0 to 1, did not exceed.
    pub fn wait_of(&self, part: f64) -> Duration {
        let last = self.waits.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "a rank among the jobs"
        )]
        let rank = (last as f64 * part.clamp(0.0, 1.0)).round() as usize;
        self.waits.get(rank).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Idle, Rule};

    const CLOUD: Cloud = Cloud {
        boot: Duration::from_mins(1),
        removal: Duration::from_secs(10),
    };

    fn job(created_at: i64, duration: u64) -> SimulatedJob {
        SimulatedJob {
            created_at: Timestamp::from_second(1_795_000_000 + created_at).unwrap(),
            duration: Duration::from_secs(duration),
        }
    }

    fn options(idle: u32, idle_time: u64) -> PoolOptions {
        let mut options = PoolOptions::new("sim-");
        options.schedule.otherwise = Rule {
            idle: Idle::Fixed(idle),
            idle_time: Duration::from_secs(idle_time),
            preemptive: idle > 0,
        };
        options
    }

    #[test]
    fn job_on_demand_waits_for_its_machine() {
        let jobs = [job(0, 100), job(1000, 100)];
        let result = simulate(&jobs, &options(0, 300), CLOUD);
        assert_eq!(result.waits, [Duration::from_mins(1); 2]);
        assert_eq!((result.created, result.most), (2, 1));
        assert_eq!(result.job_time, Duration::from_secs(200));
        // The first: boot, job, idle time, removal. The second ends with its job.
        let expected = Duration::from_secs(60 + 100 + 300 + 10 + 60 + 100);
        assert_eq!(result.machine_time, expected);
    }

    #[test]
    fn idle_machine_takes_a_job_at_once() {
        let jobs = [job(0, 30), job(200, 30), job(210, 30)];
        let result = simulate(&jobs, &options(1, 3600), CLOUD);
        let seconds: Vec<_> = result.waits.iter().map(Duration::as_secs).collect();
        // The first waits for the boot; the others find the two machines that are there by then.
        assert_eq!(seconds, [0, 0, 60]);
        assert_eq!(result.wait_of(0.5), Duration::ZERO);
        assert_eq!(result.wait_of(1.0), Duration::from_mins(1));
    }

    #[test]
    fn limit_makes_jobs_wait_for_each_other() {
        let mut options = options(0, 0);
        options.limits.machines = 1;
        let jobs = [job(0, 100), job(0, 100), job(0, 100)];
        let result = simulate(&jobs, &options, CLOUD);
        let seconds: Vec<_> = result.waits.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [60, 160, 260]);
        assert_eq!(result.most, 1);
        let most = result.course.iter().map(|it| it.waiting).max();
        assert_eq!(most, Some(3));
    }

    #[test]
    fn jobs_without_any_room_end_the_simulation() {
        let mut options = options(1, 0);
        options.schedule.otherwise.idle = Idle::Fixed(0);
        let result = simulate(&[job(0, 1)], &options, CLOUD);
        assert_eq!((result.waits.len(), result.created), (0, 0));
        assert_eq!(simulate(&[], &options, CLOUD).created, 0);
    }
}
