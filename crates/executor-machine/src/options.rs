//! The settings of a pool.

use crate::policy::Limits;
use crate::schedule::{Idle, Rule, Schedule};
use crate::throttle::Throttle;
use std::time::Duration;

/// The settings of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolOptions {
    /// What the names of machines begin with. The pool appends a time and a random number, and takes every machine with such a
    /// name for its own; so no two pools of one driver may have the same prefix.
    pub prefix: String,
    /// The limits. Default: none.
    pub limits: Limits,
    /// How many slots are kept free, by time. Default: none, and a machine is removed as soon as it is idle.
    pub schedule: Schedule,
    /// How fast machines are created. Default: as fast as they are needed.
    pub throttle: Option<Throttle>,
    /// How long a job waits for a machine: `instance_acquire_timeout`. A creation that takes longer counts for no job.
    /// Default: 15 minutes.
    pub acquire_timeout: Duration,
    /// How long a machine is kept for jobs of an earlier process that may be continued, once it is ready. Default: 15 minutes.
    pub orphan_timeout: Duration,
    /// How long a creation may take. Default: an hour.
    pub create_timeout: Duration,
    /// How long a check or a list may take. Default: a minute.
    pub check_timeout: Duration,
    /// How long a removal may take. Default: an hour.
    pub remove_timeout: Duration,
    /// How often a machine without a job is checked: `update_interval`. At least a second. Default: a minute.
    pub check_interval: Duration,
    /// After how many failed checks a machine is removed: `failure_threshold`. Default: 3.
    pub failure_threshold: u32,
    /// The pause before a failed removal is tried again. It doubles each time, up to half an hour.
    /// Default: 30 seconds.
    pub removal_retry: Duration,
    /// Whether [`shutdown`](crate::Pool::shutdown) removes the machines: `delete_instances_on_shutdown`. Default:
    /// false; the next pool takes them over.
    pub remove_on_shutdown: bool,
}

impl PoolOptions {
    /// Returns the defaults: machines on demand, without a limit, which are removed as soon as they are idle.
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            limits: Limits::default(),
            schedule: Schedule {
                otherwise: Rule {
                    idle: Idle::Fixed(0),
                    idle_time: Duration::ZERO,
                    preemptive: false,
                },
                entries: Vec::new(),
            },
            throttle: None,
            acquire_timeout: Duration::from_mins(15),
            orphan_timeout: Duration::from_mins(15),
            create_timeout: Duration::from_hours(1),
            check_timeout: Duration::from_mins(1),
            remove_timeout: Duration::from_hours(1),
            check_interval: Duration::from_mins(1),
            failure_threshold: 3,
            removal_retry: Duration::from_secs(30),
            remove_on_shutdown: false,
        }
    }
}
