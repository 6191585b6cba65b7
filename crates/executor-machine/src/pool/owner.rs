//! The owner of the machines: the only code that changes them.

use super::creation::Creation;
use super::entry::{Entry, SHORTEST_PAUSE};
use super::status::MachineStatus;
use super::{Lease, Message, Records, TakeError};
use crate::driver::{DriverError, MachineDriver};
use crate::journal::Journal;
use crate::machine::{Machine, Reason, State};
use crate::metrics::MachineMetrics;
use crate::options::PoolOptions;
use crate::policy::{Decision, Limits, decide};
use crate::schedule::Rule;
use crate::throttle::Pace;
use executor_core::panics::catch_panic;
use executor_core::{Endpoint, HumanDuration, chain};
use jiff::Timestamp;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// The longest pause after failed creations, and after failed removals.
const LONGEST_CREATION_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_REMOVAL_PAUSE: Duration = Duration::from_mins(30);

/// How often the rule of the time is looked up.
const RULE_INTERVAL: Duration = Duration::from_mins(1);

/// A job that waits for a slot.
pub(super) struct Waiter {
    pub(super) reply: oneshot::Sender<Result<Lease, TakeError>>,
    pub(super) since: Duration,
    pub(super) until: Duration,
}

impl Waiter {
    fn new(
        reply: oneshot::Sender<Result<Lease, TakeError>>,
        now: Duration,
        options: &PoolOptions,
    ) -> Self {
        Self {
            reply,
            since: now,
            until: now.saturating_add(options.acquire_timeout),
        }
    }
}

/// What the driver has answered.
pub(super) enum Answer {
    Listed(Result<Vec<String>, DriverError>),
    Created(Arc<str>, Result<Endpoint, DriverError>),
    Checked(Arc<str>, Result<(), DriverError>),
    Removed(Arc<str>, Result<(), DriverError>),
}

pub(super) struct Owner {
    pub(super) options: PoolOptions,
    pub(super) driver: Arc<dyn MachineDriver>,
    /// For the leases.
    pub(super) sender: mpsc::UnboundedSender<Message>,
    pub(super) machines: BTreeMap<Arc<str>, Entry>,
    pub(super) journal: Option<Journal>,
    pub(super) metrics: Option<MachineMetrics>,
    /// When the states of the machines were measured last.
    pub(super) measured: Instant,
    pub(super) waiting: VecDeque<Waiter>,
    /// Jobs of an earlier process, each with its machine.
    pub(super) returning: Vec<(Arc<str>, Waiter)>,
    /// Jobs that will ask for a machine.
    pub(super) promised: u32,
    pub(super) work: JoinSet<Answer>,
    /// Limits how many machines are made ready again at once.
    pub(super) takeovers: Arc<Semaphore>,
    /// Whether the machines of earlier processes are known.
    pub(super) is_listed: bool,
    pub(super) list_again: Duration,
    /// Why they are not.
    pub(super) list_error: Option<String>,
    pub(super) failed_creations: u32,
    pub(super) create_again: Duration,
    pub(super) pace: Pace,
    pub(super) on_demand_noted: bool,
    pub(super) full_noted: bool,
    /// Whether the machines are removed because the pool ends.
    pub(super) is_ending: watch::Sender<bool>,
    /// Those that wait for the end of the pool. With one of them it ends.
    pub(super) closing: Vec<oneshot::Sender<()>>,
    pub(super) start: (Instant, Duration),
}

/// Owns the machines until the pool is shut down.
pub(super) async fn run(
    options: PoolOptions,
    driver: Arc<dyn MachineDriver>,
    records: Records,
    sender: mpsc::UnboundedSender<Message>,
    mut receiver: mpsc::UnboundedReceiver<Message>,
) {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut owner = Owner {
        options,
        driver,
        sender,
        machines: BTreeMap::new(),
        journal: records.journal,
        metrics: records.metrics,
        measured: Instant::now(),
        waiting: VecDeque::new(),
        returning: Vec::new(),
        promised: 0,
        work: JoinSet::new(),
        takeovers: Arc::new(Semaphore::new(super::takeover::AT_ONCE)),
        is_listed: false,
        list_again: Duration::ZERO,
        list_error: None,
        failed_creations: 0,
        create_again: Duration::ZERO,
        pace: Pace::default(),
        on_demand_noted: false,
        full_noted: false,
        is_ending: watch::Sender::new(false),
        closing: Vec::new(),
        start: (Instant::now(), since_epoch.unwrap_or_default()),
    };
    owner.list();
    loop {
        let next = owner.step();
        owner.write_journal();
        owner.measure();
        if owner.is_over() {
            break;
        }
        let next = owner.start.0 + next.saturating_sub(owner.start.1);
        tokio::select! {
            Some(message) = receiver.recv() => owner.receive(message),
            Some(answer) = owner.work.join_next() => owner.answered(answer),
            () = sleep_until(next) => {}
        }
        // One decision for all that has happened.
        while let Ok(message) = receiver.try_recv() {
            owner.receive(message);
        }
        while let Some(answer) = owner.work.try_join_next() {
            owner.answered(answer);
        }
    }
    for closing in owner.closing.drain(..) {
        let _ = closing.send(());
    }
}

impl Owner {
    /// Returns the time since the Unix epoch. It never goes back.
    pub(super) fn now(&self) -> Duration {
        let (start, since_epoch) = self.start;
        since_epoch + start.elapsed()
    }

    pub(super) fn rule(&self) -> &Rule {
        self.options.schedule.rule_at(Timestamp::now())
    }

    fn decide(&self, now: Duration) -> Decision<&str> {
        let machines = self.machines.iter();
        let machines = machines.map(|(name, entry)| (&**name, &entry.machine));
        let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        let limits = Limits {
            creation: self.options.acquire_timeout,
            ..self.options.limits
        };
        decide(machines, waiting, self.rule(), &limits, now)
    }

    /// Notes the states of the machines, and the time in those of the last call.
    fn measure(&mut self) {
        let Some(metrics) = &self.metrics else {
            return;
        };
        let measured = std::mem::replace(&mut self.measured, Instant::now());
        let states = self.machines.values().map(|entry| entry.machine.state());
        metrics.states(states, measured.elapsed());
    }

    fn is_over(&self) -> bool {
        // A call of the driver is not cut off in the middle.
        let is_done = self.machines.is_empty() || !self.options.remove_on_shutdown;
        !self.closing.is_empty() && is_done && self.work.is_empty()
    }

    fn receive(&mut self, message: Message) {
        let now = self.now();
        match message {
            Message::Acquire(reply) => {
                let acquired = self.acquire(now);
                // One that is not received is dropped, which frees it.
                let _ = reply.send(acquired);
            }
            // It learns that the pool is closed.
            Message::Take(reply) if !self.closing.is_empty() => drop(reply),
            Message::Take(reply) => {
                self.waiting
                    .push_back(Waiter::new(reply, now, &self.options));
            }
            Message::Retake(_, reply) if !self.closing.is_empty() => drop(reply),
            Message::Retake(name, reply) => {
                self.returning
                    .push((name, Waiter::new(reply, now, &self.options)));
            }
            Message::Verify(name, reply) => match self.machines.get_mut(&name) {
                // It learns that the machine is gone.
                None => drop(reply),
                Some(entry) => entry.verify(reply, now),
            },
            Message::Started(name) => {
                if let Some(entry) = self.machines.get_mut(&name) {
                    entry.machine.start(now);
                    if let Some(metrics) = &self.metrics {
                        metrics.used();
                        if entry.machine.jobs() == 1 {
                            metrics.first_job(now.saturating_sub(entry.machine.created()));
                        }
                    }
                    tracing::info!(
                        machine = &*name,
                        jobs = entry.machine.jobs(),
                        "A machine is used."
                    );
                    if self.options.limits.jobs_left(entry.machine.jobs()) == 0 {
                        entry.machine.retire(Reason::TooManyJobs);
                    }
                }
            }
            Message::Released {
                name,
                had_job,
                has_answered,
                is_doubted,
            } => {
                if let Some(entry) = self.machines.get_mut(&name) {
                    if is_doubted && entry.machine.retired().is_none() {
                        entry.doubted.push(had_job);
                        entry.machine.suspect(true);
                    } else {
                        if has_answered {
                            entry.checked = now;
                        }
                        entry.free(had_job, now);
                    }
                }
            }
            Message::Unpromised => self.promised = self.promised.saturating_sub(1),
            Message::Left => {
                self.waiting.retain(|waiter| !waiter.reply.is_closed());
                self.returning.retain(|(_, it)| !it.reply.is_closed());
            }
            Message::Status(reply) => {
                let _ = reply.send(self.status(now));
            }
            Message::Change(options) => {
                if self.options.throttle != options.throttle {
                    self.pace = Pace::default();
                }
                let prefix = std::mem::take(&mut self.options.prefix);
                self.options = PoolOptions { prefix, ..*options };
            }
            Message::Shutdown(reply) => {
                self.closing.push(reply);
                self.waiting.clear();
                self.returning.clear();
                if self.options.remove_on_shutdown {
                    self.is_ending.send_replace(true);
                    for entry in self.machines.values_mut() {
                        entry.machine.retire(Reason::Shutdown);
                        entry.give_up_orphans(now);
                        entry.removable = Duration::ZERO;
                    }
                }
            }
        }
    }

    fn status(&self, now: Duration) -> Vec<MachineStatus> {
        let decision = self.decide(now);
        let machines = self.machines.iter();
        let status = machines.map(|(name, entry)| {
            MachineStatus::new(name, &entry.machine, &decision, entry.failed_removals, now)
        });
        status.collect()
    }

    /// Does what is due, and returns when it is to be called again at the latest.
    fn step(&mut self) -> Duration {
        let now = self.now();
        self.waiting.retain(|waiter| !waiter.reply.is_closed());
        while !self.waiting.is_empty() {
            let Some(lease) = self.reserve(now) else {
                break;
            };
            let Some(waiter) = self.waiting.pop_front() else {
                break;
            };
            if let Some(metrics) = &self.metrics {
                metrics.handed_over(now.saturating_sub(waiter.since));
            }
            // One that is not received is dropped, which frees it.
            let _ = waiter.reply.send(Ok(lease));
        }
        let mut next = self.step_returning(now);
        let limit = self.options.acquire_timeout;
        while let Some(waiter) = self.waiting.pop_front_if(|waiter| waiter.until <= now) {
            let _ = waiter.reply.send(Err(TakeError::TimedOut(limit)));
        }
        if let Some(error) = &self.list_error {
            for waiter in self.waiting.drain(..) {
                let _ = waiter.reply.send(Err(TakeError::Driver(error.clone())));
            }
        }
        if let Some(waiter) = self.waiting.front() {
            next = next.min(waiter.until);
        }
        if !self.is_listed {
            if now < self.list_again {
                next = next.min(self.list_again);
            } else if self.work.is_empty() && self.closing.is_empty() {
                self.list();
            }
            return next;
        }
        if !self.options.schedule.entries.is_empty() {
            next = next.min(now + RULE_INTERVAL);
        }
        // From then on, a creation counts for no job, and another machine may be needed.
        let creating = self.machines.values().map(|entry| &entry.machine);
        let creating = creating.filter(|machine| machine.state() == State::Creating);
        let given_up = creating.map(|machine| machine.since().saturating_add(limit));
        if let Some(given_up) = given_up.filter(|end| *end > now).min() {
            next = next.min(given_up);
        }
        let decision = self.decide(now);
        if let Some((_, end)) = decision.expire.first() {
            next = next.min(*end);
        }
        let create = decision.create;
        let remove: Vec<_> = decision
            .remove
            .iter()
            .map(|(name, reason)| (Arc::<str>::from(*name), *reason))
            .collect();
        for (name, reason) in remove {
            if let Some(entry) = self.machines.get_mut(&name) {
                tracing::info!(machine = &*name, %reason, "A machine is removed.");
                entry.machine.remove(now, reason);
            }
        }
        if create > 0 && self.closing.is_empty() {
            if now < self.create_again {
                next = next.min(self.create_again);
            } else {
                let throttle = self.options.throttle.as_ref();
                let (create, more) = self.pace.take(throttle, create, now);
                next = next.min(more.unwrap_or(next));
                (0..create).for_each(|_| self.create(self.new_name(now), Machine::creating(now)));
            }
        }
        self.call_driver(now, next)
    }

    /// Starts the removals and checks that are due.
    fn call_driver(&mut self, now: Duration, mut next: Duration) -> Duration {
        let options = &self.options;
        for (name, entry) in self.machines.iter_mut().filter(|(_, entry)| !entry.is_busy) {
            let (name, driver) = (Arc::clone(name), Arc::clone(&self.driver));
            if entry.machine.state() == State::Removing {
                if now < entry.removable {
                    next = next.min(entry.removable);
                    continue;
                }
                entry.is_busy = true;
                let limit = options.remove_timeout;
                self.work.spawn(async move {
                    let removed = within(limit, async { driver.remove(&name).await }).await;
                    Answer::Removed(name, removed)
                });
                continue;
            }
            let Some(due) = entry.check_due(options.check_interval) else {
                continue;
            };
            if now < due {
                next = next.min(due);
                continue;
            }
            let Some(endpoint) = entry.endpoint.clone() else {
                continue;
            };
            entry.is_busy = true;
            entry.doubted_in_check = entry.doubted.len();
            let limit = options.check_timeout;
            self.work.spawn(async move {
                let checked = within(limit, async { driver.check(&name, &endpoint).await }).await;
                Answer::Checked(name, checked)
            });
        }
        next
    }

    fn list(&mut self) {
        let (driver, prefix) = (Arc::clone(&self.driver), self.options.prefix.clone());
        let limit = self.options.check_timeout;
        self.work.spawn(async move {
            Answer::Listed(within(limit, async { driver.list(&prefix).await }).await)
        });
    }

    pub(super) fn new_name(&self, now: Duration) -> Arc<str> {
        let (prefix, seconds) = (&self.options.prefix, now.as_secs());
        format!("{prefix}{seconds}-{:08x}", fastrand::u32(..)).into()
    }

    pub(super) fn create(&mut self, name: Arc<str>, machine: Machine) {
        let mut entry = Entry::new(machine, self.now());
        entry.is_busy = true;
        if let Some(journal) = &mut self.journal {
            // Before it can exist.
            entry.note(&name, journal);
        }
        self.machines.insert(Arc::clone(&name), entry);
        let creation = self.creation(&name);
        self.work
            .spawn(async move { Answer::Created(name, creation.run().await) });
    }

    /// Returns what makes a machine ready.
    pub(super) fn creation(&self, name: &Arc<str>) -> Creation {
        Creation {
            name: Arc::clone(name),
            driver: Arc::clone(&self.driver),
            limit: self.options.create_timeout,
            is_over: self.is_ending.subscribe(),
        }
    }

    fn answered(&mut self, answer: Result<Answer, tokio::task::JoinError>) {
        let now = self.now();
        // Panics of a driver are caught in the task, and no task is aborted before the end.
        let Ok(answer) = answer else { return };
        match answer {
            Answer::Listed(Ok(names)) => {
                (self.is_listed, self.list_error) = (true, None);
                self.take_over(names, now);
            }
            Answer::Listed(Err(error)) => {
                let error = chain(&error);
                tracing::warn!(%error, "The machines cannot be listed; none is created before.");
                self.list_error = Some(format!("list the machines: {error}"));
                self.list_again = now + self.options.removal_retry.max(SHORTEST_PAUSE);
            }
            Answer::Created(name, created) => self.created(&name, created, now),
            Answer::Checked(name, checked) => {
                let threshold = self.options.failure_threshold;
                if let Some(entry) = self.machines.get_mut(&name) {
                    entry.checked(&name, checked, threshold, now);
                }
            }
            Answer::Removed(name, Ok(())) => {
                let entry = self.machines.remove(&name);
                if let (Some(metrics), Some(entry)) = (&self.metrics, entry) {
                    metrics.removed(now.saturating_sub(entry.machine.since()));
                }
                if let Some(journal) = &mut self.journal {
                    journal.note(&name, None);
                }
            }
            Answer::Removed(name, Err(error)) => {
                if let Some(entry) = self.machines.get_mut(&name) {
                    entry.is_busy = false;
                    let pause = backoff(
                        self.options.removal_retry.max(SHORTEST_PAUSE),
                        entry.failed_removals,
                        LONGEST_REMOVAL_PAUSE,
                    );
                    entry.failed_removals += 1;
                    if let Some(metrics) = &self.metrics {
                        metrics.failed_to_remove();
                    }
                    entry.removable = now + pause;
                    tracing::warn!(
                        machine = &*name,
                        attempts = entry.failed_removals,
                        error = %chain(&error),
                        "A machine cannot be removed; tried again in {}.", HumanDuration(pause)
                    );
                }
            }
        }
    }

    fn created(&mut self, name: &Arc<str>, created: Result<Endpoint, DriverError>, now: Duration) {
        let limit = self.options.orphan_timeout;
        let Some(entry) = self.machines.get_mut(name) else {
            return;
        };
        entry.is_busy = false;
        let took = now.saturating_sub(entry.machine.since());
        match (&self.metrics, &created) {
            (Some(metrics), Ok(_)) if entry.restored.is_none() => metrics.created(took),
            (Some(metrics), Err(_)) => metrics.failed_to_create(took),
            _ => {}
        }
        match created {
            Ok(endpoint) => {
                tracing::info!(
                    machine = &**name,
                    seconds = took.as_secs_f64(),
                    "A machine is ready."
                );
                self.failed_creations = 0;
                entry.endpoint = Some(Arc::new(endpoint));
                entry.checked = now;
                match (entry.machine.retired(), entry.restored.take()) {
                    (None, None) => entry.machine.finish_creation(now),
                    (None, Some(restored)) => {
                        let jobs = restored.in_use();
                        if jobs > 0 {
                            tracing::warn!(
                                machine = &**name,
                                jobs,
                                "The machine is kept for {}, so that jobs of an earlier process can be continued.",
                                HumanDuration(limit)
                            );
                        }
                        entry.restore(&restored, now, limit);
                    }
                    (Some(reason), _) => entry.machine.remove(now, reason),
                }
            }
            Err(error) => {
                let error = chain(&error);
                tracing::warn!(machine = &**name, error, "A machine cannot be created.");
                entry.machine.remove(now, Reason::FailedToCreate);
                self.create_again = now
                    + backoff(
                        Duration::from_secs(1),
                        self.failed_creations,
                        LONGEST_CREATION_PAUSE,
                    );
                self.failed_creations += 1;
                let creating = self
                    .machines
                    .values()
                    .filter(|it| it.machine.state() == State::Creating);
                let coming = creating.count() * self.options.limits.slots as usize;
                self.waiting.retain(|waiter| !waiter.reply.is_closed());
                // Machines that are there may have room for the job later.
                let is_alone = !self.machines.values().any(|it| {
                    matches!(
                        it.machine.state(),
                        State::Idle | State::Acquired | State::Used
                    )
                });
                // The job that this machine was for.
                if is_alone
                    && self.waiting.len() > coming
                    && let Some(waiter) = self.waiting.pop_front()
                {
                    let message = format!("create machine {name}: {error}");
                    let _ = waiter.reply.send(Err(TakeError::Driver(message)));
                }
            }
        }
    }
}

/// Calls a driver. A panic and the end of the time are errors.
pub(super) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, DriverError>>,
) -> Result<T, DriverError> {
    match timeout(limit, catch_panic(call)).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(DriverError::new(format!("the driver panicked: {panic}"))),
        Err(_) => Err(DriverError::new(format!(
            "the driver did not answer within {}",
            HumanDuration(limit)
        ))),
    }
}

pub(super) fn backoff(first: Duration, failures: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.min(20)).min(longest)
}
