//! One machine as the pool knows it.

use crate::policy::Limits;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// What a machine is doing. The names are those of GitLab Runner's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is being made.
    Creating,
    /// It has no job.
    Idle,
    /// It is reserved for a job that is not there yet.
    Acquired,
    /// It has a job.
    Used,
    /// It is being removed.
    Removing,
}

impl State {
    /// All states.
    pub const ALL: [Self; 5] = [
        Self::Creating,
        Self::Idle,
        Self::Acquired,
        Self::Used,
        Self::Removing,
    ];

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Idle => "idle",
            Self::Acquired => "acquired",
            Self::Used => "used",
            Self::Removing => "removing",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a machine is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It has had as many jobs as a machine may have.
    TooManyJobs,
    /// There are more machines than the limit, which was lowered.
    TooManyMachines,
    /// It is not needed, and was idle for longer than it is kept.
    TooManyIdle,
    /// It does not answer, or a job's environment there failed.
    Unavailable,
    /// It could not be created to its end.
    FailedToCreate,
    /// A job of a process that was killed may still run there, and was not continued.
    LostJob,
    /// The runner ends.
    Shutdown,
}

impl Reason {
    /// Returns the reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooManyJobs => "it has had its number of jobs",
            Self::TooManyMachines => "there are more machines than the limit",
            Self::TooManyIdle => "it was idle for too long",
            Self::Unavailable => "it does not answer",
            Self::FailedToCreate => "it could not be created",
            Self::LostJob => "a job of a killed runner was not continued there",
            Self::Shutdown => "the runner ends",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A machine. Times are since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    life: Life,
    /// When its creation began.
    created: Duration,
    /// Since when it is in its state.
    since: Duration,
    /// Slots that are reserved and have no job yet.
    reserved: u32,
    /// Slots that have a job.
    running: u32,
    /// How many jobs it has had, with those that it has.
    jobs: u32,
    /// Whether it may be at fault.
    is_suspect: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Life {
    Creating,
    Ready,
    /// It takes no more jobs, and is removed after those that it has.
    Retired(Reason),
    Removing(Reason),
}

impl Machine {
    /// Returns a machine that is being created.
    pub fn creating(now: Duration) -> Self {
        Self {
            life: Life::Creating,
            created: now,
            since: now,
            reserved: 0,
            running: 0,
            jobs: 0,
            is_suspect: false,
        }
    }

    /// Returns what it is doing.
    pub fn state(&self) -> State {
        match self.life {
            Life::Creating => State::Creating,
            Life::Removing(_) => State::Removing,
            Life::Ready | Life::Retired(_) if self.running > 0 => State::Used,
            Life::Ready | Life::Retired(_) if self.reserved > 0 => State::Acquired,
            Life::Ready | Life::Retired(_) => State::Idle,
        }
    }

    /// Returns when its creation began.
    pub fn created(&self) -> Duration {
        self.created
    }

    /// Returns since when it is in its state.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// Returns how many jobs it has had, with those that it has.
    pub fn jobs(&self) -> u32 {
        self.jobs
    }

    /// Returns how many of its slots are reserved or have a job.
    pub fn in_use(&self) -> u32 {
        self.reserved + self.running
    }

    /// Returns whether it may be at fault: it takes no jobs until it is known to be well.
    pub fn is_suspect(&self) -> bool {
        self.is_suspect
    }

    /// Sets whether it may be at fault.
    pub fn suspect(&mut self, is_suspect: bool) {
        self.is_suspect = is_suspect;
    }

    /// Returns why it takes no more jobs.
    pub fn retired(&self) -> Option<Reason> {
        match self.life {
            Life::Retired(reason) | Life::Removing(reason) => Some(reason),
            Life::Creating | Life::Ready => None,
        }
    }

    /// Returns how many more jobs it may have at once now.
    pub fn free(&self, limits: &Limits) -> u32 {
        match self.life {
            Life::Ready if !self.is_suspect => {
                let slots = limits.slots.saturating_sub(self.in_use());
                slots.min(limits.jobs_left(self.jobs.saturating_add(self.reserved)))
            }
            _ => 0,
        }
    }

    /// Returns a machine that existed before, and of which nothing is known: it counts as used once.
    pub fn found(now: Duration) -> Self {
        Self {
            jobs: 1,
            ..Self::creating(now)
        }
    }

    /// Returns a machine of an earlier process, as that left it. A slot that was reserved counts as one with a job, since the
    /// process may have been killed before it could say that the job had begun.
    #[must_use]
    pub fn restored(&self, now: Duration) -> Self {
        Self {
            // The clock may have been set back.
            created: self.created.min(now),
            since: self.since.min(now),
            reserved: 0,
            running: self.in_use(),
            jobs: self.jobs.saturating_add(self.reserved),
            is_suspect: false,
            ..*self
        }
    }

    /// Returns the machine while it is being made ready again.
    #[must_use]
    pub fn returning(&self, now: Duration) -> Self {
        Self {
            life: Life::Creating,
            since: now,
            ..self.restored(now)
        }
    }

    /// Makes it ready for its first job.
    pub fn finish_creation(&mut self, now: Duration) {
        debug_assert_eq!(self.life, Life::Creating);
        self.change(now, |it| it.life = Life::Ready);
    }

    /// Keeps a slot for a job that will come.
    pub fn reserve(&mut self, now: Duration) {
        debug_assert_eq!(self.life, Life::Ready);
        self.change(now, |it| it.reserved += 1);
    }

    /// Gives a kept slot to its job.
    pub fn start(&mut self, now: Duration) {
        debug_assert!(self.reserved > 0);
        self.change(now, |it| {
            it.reserved -= 1;
            it.running += 1;
            it.jobs += 1;
        });
    }

    /// Frees a kept slot, whose job has not come.
    pub fn release(&mut self, now: Duration) {
        debug_assert!(self.reserved > 0);
        self.change(now, |it| it.reserved -= 1);
    }

    /// Frees the slot of a job that has ended.
    pub fn end(&mut self, now: Duration) {
        debug_assert!(self.running > 0);
        self.change(now, |it| it.running -= 1);
    }

    /// Has it take no more jobs.
    pub fn retire(&mut self, reason: Reason) {
        if matches!(self.life, Life::Creating | Life::Ready) {
            self.life = Life::Retired(reason);
        }
    }

    /// Notes that it is being removed.
    pub fn remove(&mut self, now: Duration, reason: Reason) {
        self.change(now, |it| it.life = Life::Removing(reason));
    }

    fn change(&mut self, now: Duration, change: impl FnOnce(&mut Self)) {
        let before = self.state();
        change(self);
        if self.state() != before {
            self.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_follows_the_slots() {
        let at = Duration::from_secs;
        let two = Limits {
            slots: 2,
            ..Limits::default()
        };
        let mut machine = Machine::creating(at(1));
        assert_eq!((machine.state(), machine.free(&two)), (State::Creating, 0));
        machine.finish_creation(at(2));
        assert_eq!((machine.state(), machine.free(&two)), (State::Idle, 2));
        machine.reserve(at(3));
        assert_eq!((machine.state(), machine.free(&two)), (State::Acquired, 1));
        machine.reserve(at(4));
        machine.start(at(5));
        assert_eq!((machine.state(), machine.free(&two)), (State::Used, 0));
        machine.release(at(6));
        assert_eq!((machine.state(), machine.since()), (State::Used, at(5)));
        machine.retire(Reason::TooManyJobs);
        assert_eq!((machine.state(), machine.free(&two)), (State::Used, 0));
        machine.end(at(7));
        assert_eq!((machine.state(), machine.since()), (State::Idle, at(7)));
        machine.remove(at(8), Reason::TooManyJobs);
        assert_eq!((machine.state(), machine.jobs()), (State::Removing, 1));
    }
}
