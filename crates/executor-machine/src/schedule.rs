//! How many machines are kept ready, at which time.

use crate::period::Period;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::Duration;

/// How many slots for jobs are kept free, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// How many slots are kept free.
    pub idle: Idle,
    /// How long a machine that is not needed is kept.
    pub idle_time: Duration,
    /// Whether a job is requested only when a slot is free. Without it, a job waits for its machine.
    pub preemptive: bool,
}

/// How many slots are kept free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Idle {
    /// This number.
    Fixed(u32),
    /// `factor` times the slots in use, but at least `min` and at most `max`: `IdleScaleFactor`, `IdleCountMin` and
    /// `IdleCount` of docker-machine.
    Between {
        /// Of the slots in use.
        factor: f64,
        /// The least number.
        min: u32,
        /// The greatest number.
        max: u32,
    },
    /// `factor` times the slots in use and at most `limit`, but at least `count`: `scale_factor`, `scale_factor_limit` and
    /// `idle_count` of the autoscaler.
    AtLeast {
        /// Of the slots in use.
        factor: f64,
        /// The greatest number that comes from the factor; 0 for any.
        limit: u32,
        /// The least number.
        count: u32,
    },
}

impl Rule {
    /// Returns how many slots are to be free when so many are in use.
    pub fn wanted(&self, in_use: u32) -> u32 {
        let scaled = |factor: f64| {
            let slots = (f64::from(in_use) * factor).ceil();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "what does not fit becomes the nearest number"
            )]
            let slots = slots as u32;
            slots
        };
        match self.idle {
            Idle::Fixed(count) => count,
            Idle::Between { factor, min, max } => scaled(factor).max(min).min(max),
            Idle::AtLeast {
                factor,
                limit,
                count,
            } => {
                let limit = if limit == 0 { u32::MAX } else { limit };
                scaled(factor).min(limit).max(count)
            }
        }
    }
}

/// Rules for times of the week, and one for all others.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Holds when no other does.
    pub otherwise: Rule,
    /// Those that hold at some times. The last one that holds is used.
    pub entries: Vec<Entry>,
}

/// A rule and its times.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it holds: in any of these.
    pub periods: Vec<Period>,
    /// The time zone of the periods.
    pub zone: TimeZone,
    /// What holds then.
    pub rule: Rule,
}

impl Schedule {
    /// Returns the rule for this time.
    pub fn rule_at(&self, now: Timestamp) -> &Rule {
        let holds = |entry: &&Entry| {
            let time = entry.zone.to_datetime(now);
            entry.periods.iter().any(|period| period.contains(time))
        };
        let entry = self.entries.iter().rev().find(holds);
        entry.map_or(&self.otherwise, |entry| &entry.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(idle: u32) -> Rule {
        Rule {
            idle: Idle::Fixed(idle),
            idle_time: Duration::from_mins(10),
            preemptive: idle > 0,
        }
    }

    fn entry(periods: &[&str], zone: &str, idle: u32) -> Entry {
        Entry {
            periods: periods.iter().map(|text| text.parse().unwrap()).collect(),
            zone: TimeZone::get(zone).unwrap(),
            rule: rule(idle),
        }
    }

    fn wanted(schedule: &Schedule, time: &str) -> u32 {
        schedule.rule_at(time.parse().unwrap()).wanted(0)
    }

    #[test]
    fn last_match_wins() {
        let schedule = Schedule {
            otherwise: rule(1),
            entries: vec![
                entry(&["* * * * mon-fri"], "UTC", 5),
                entry(&["* 9-17 * * mon-fri", "* * 24 12 *"], "UTC", 50),
            ],
        };
        assert_eq!(wanted(&schedule, "2026-11-28T12:00:00Z"), 1);
        assert_eq!(wanted(&schedule, "2026-11-30T08:59:59Z"), 5);
        assert_eq!(wanted(&schedule, "2026-11-30T09:00:00Z"), 50);
        assert_eq!(wanted(&schedule, "2026-12-24T23:00:00Z"), 50);
    }

    #[test]
    fn periods_follow_their_zone_through_the_change_of_the_clock() {
        let work = Schedule {
            otherwise: rule(0),
            entries: vec![entry(&["* 8 * * *"], "Europe/Berlin", 3)],
        };
        // Winter and summer.
        assert_eq!(wanted(&work, "2026-03-28T07:30:00Z"), 3);
        assert_eq!(wanted(&work, "2026-03-29T07:30:00Z"), 0);
        assert_eq!(wanted(&work, "2026-03-29T06:30:00Z"), 3);
        // The hour from 2 to 3 is left out in spring, and comes twice in autumn.
        let night = Schedule {
            otherwise: rule(0),
            entries: vec![entry(&["* 2 * * *"], "Europe/Berlin", 3)],
        };
        let minutes = |from: &str| {
            let from: Timestamp = from.parse().unwrap();
            let at = |minute| from + jiff::SignedDuration::from_mins(minute);
            (0..24 * 60)
                .filter(|minute| night.rule_at(at(*minute)).wanted(0) == 3)
                .count()
        };
        assert_eq!(minutes("2026-03-28T23:00:00Z"), 0);
        assert_eq!(minutes("2026-10-24T22:00:00Z"), 120);
        assert_eq!(minutes("2026-10-26T23:00:00Z"), 60);
    }

    #[test]
    fn factors_scale_with_use() {
        let of = |idle| Rule { idle, ..rule(0) };
        let machine = of(Idle::Between {
            factor: 1.1,
            min: 2,
            max: 20,
        });
        assert_eq!([0, 1, 10, 100].map(|it| machine.wanted(it)), [2, 2, 11, 20]);
        let autoscaler = |limit| {
            of(Idle::AtLeast {
                factor: 0.5,
                limit,
                count: 3,
            })
        };
        assert_eq!([0, 10, 100].map(|it| autoscaler(8).wanted(it)), [3, 5, 8]);
        assert_eq!([0, 10, 100].map(|it| autoscaler(0).wanted(it)), [3, 5, 50]);
        assert_eq!(
            of(Idle::Between {
                factor: 1e300,
                min: 0,
                max: 9
            })
            .wanted(1),
            9
        );
    }
}
