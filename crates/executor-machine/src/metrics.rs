//! Metrics of a pool for Prometheus. The names that begin with `gitlab_runner_` are GitLab Runner's.

use crate::machine::State;
use prometheus::{
    CounterVec, Error, Histogram, HistogramOpts, IntCounterVec, IntGaugeVec, Opts, Registry,
};
use std::collections::HashMap;
use std::time::Duration;

/// GitLab Runner's buckets for creations: from half a minute to about four minutes.
const CREATION: [f64; 10] = [
    30.0, 37.5, 46.875, 58.594, 73.242, 91.553, 114.441, 143.051, 178.814, 223.517,
];

/// GitLab Runner's buckets for removals.
const REMOVAL: [f64; 8] = [1.0, 3.0, 5.0, 10.0, 30.0, 60.0, 90.0, 120.0];

/// From the hand-over of an idle machine to a machine that has to boot.
const HAND_OVER: [f64; 9] = [0.001, 0.005, 0.05, 0.5, 5.0, 30.0, 60.0, 300.0, 900.0];

/// The metrics of one pool. Clones share them.
///
/// | metric | labels | meaning |
/// |---|---|---|
/// | `gitlab_runner_autoscaling_actions_total` | `executor`, `action` | machines `created`, `used`, `removed`, and those with `creation-failed` or `removal-failed` |
/// | `gitlab_runner_autoscaling_machine_states` | `executor`, `state` | machines, by state |
/// | `gitlab_runner_autoscaling_machine_creation_duration_seconds` | `executor` | time to create a machine |
/// | `gitlab_runner_autoscaling_machine_failed_creation_duration_seconds` | `executor` | time until a creation failed |
/// | `gitlab_runner_autoscaling_machine_removal_duration_seconds` | `executor` | time from the decision to remove a machine until it is gone |
/// | `runwright_machine_hand_over_seconds` | `executor` | time a job waited for its machine |
/// | `runwright_machine_first_job_seconds` | `executor` | time from the beginning of a machine's creation to its first job |
/// | `runwright_machine_seconds_total` | `executor`, `state` | time of all machines together, by state: that in `idle` is the price of machines kept ready |
#[derive(Debug, Clone)]
pub struct MachineMetrics {
    executor: String,
    actions: IntCounterVec,
    states: IntGaugeVec,
    creation: Histogram,
    failed_creation: Histogram,
    removal: Histogram,
    hand_over: Histogram,
    first_job: Histogram,
    seconds: CounterVec,
}

impl MachineMetrics {
    /// Registers the metrics of a pool. `executor` is the label that tells pools apart, as `docker+machine`.
    ///
    /// # Errors
    ///
    /// When the registry has metrics of these names with this label.
    pub fn new(registry: &Registry, executor: &str) -> Result<Self, Error> {
        let labels = HashMap::from([("executor".to_owned(), executor.to_owned())]);
        let opts = |name: &str, help: &str| Opts::new(name, help).const_labels(labels.clone());
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let mut options = HistogramOpts::from(opts(name, help));
            options.buckets = buckets.to_vec();
            let histogram = Histogram::with_opts(options)?;
            registry.register(Box::new(histogram.clone()))?;
            Ok::<_, Error>(histogram)
        };
        let actions = IntCounterVec::new(
            opts(
                "gitlab_runner_autoscaling_actions_total",
                "Machines that were created, used and removed, and failures.",
            ),
            &["action"],
        )?;
        registry.register(Box::new(actions.clone()))?;
        let states = IntGaugeVec::new(
            opts(
                "gitlab_runner_autoscaling_machine_states",
                "Machines, by state.",
            ),
            &["state"],
        )?;
        registry.register(Box::new(states.clone()))?;
        let seconds = CounterVec::new(
            opts(
                "runwright_machine_seconds_total",
                "Time of all machines together, by state.",
            ),
            &["state"],
        )?;
        registry.register(Box::new(seconds.clone()))?;
        Ok(Self {
            executor: executor.to_owned(),
            actions,
            states,
            creation: histogram(
                "gitlab_runner_autoscaling_machine_creation_duration_seconds",
                "Time to create a machine.",
                &CREATION,
            )?,
            failed_creation: histogram(
                "gitlab_runner_autoscaling_machine_failed_creation_duration_seconds",
                "Time until the creation of a machine failed.",
                &REMOVAL,
            )?,
            removal: histogram(
                "gitlab_runner_autoscaling_machine_removal_duration_seconds",
                "Time from the decision to remove a machine until it is gone.",
                &REMOVAL,
            )?,
            hand_over: histogram(
                "runwright_machine_hand_over_seconds",
                "Time a job waited for its machine.",
                &HAND_OVER,
            )?,
            first_job: histogram(
                "runwright_machine_first_job_seconds",
                "Time from the beginning of a machine's creation to its first job.",
                &CREATION,
            )?,
            seconds,
        })
    }

    /// Returns the label of this pool.
    pub fn executor(&self) -> &str {
        &self.executor
    }

    pub(crate) fn created(&self, took: Duration) {
        self.count("created");
        self.creation.observe(took.as_secs_f64());
    }

    pub(crate) fn failed_to_create(&self, took: Duration) {
        self.count("creation-failed");
        self.failed_creation.observe(took.as_secs_f64());
    }

    pub(crate) fn used(&self) {
        self.count("used");
    }

    /// Notes the first job of a machine of this age.
    pub(crate) fn first_job(&self, age: Duration) {
        self.first_job.observe(age.as_secs_f64());
    }

    pub(crate) fn removed(&self, took: Duration) {
        self.count("removed");
        self.removal.observe(took.as_secs_f64());
    }

    pub(crate) fn failed_to_remove(&self) {
        self.count("removal-failed");
    }

    pub(crate) fn handed_over(&self, waited: Duration) {
        self.hand_over.observe(waited.as_secs_f64());
    }

    /// Notes how many machines are in each state, and for how long they were in those of the last call.
    pub(crate) fn states(&self, states: impl Iterator<Item = State>, passed: Duration) {
        let mut counts = [0_i64; State::ALL.len()];
        for state in states {
            counts[state as usize] += 1;
        }
        for (state, count) in State::ALL.into_iter().zip(counts) {
            let gauge = self.states.with_label_values(&[state.as_str()]);
            let before = u32::try_from(gauge.get()).unwrap_or_default();
            let seconds = self.seconds.with_label_values(&[state.as_str()]);
            seconds.inc_by(passed.as_secs_f64() * f64::from(before));
            gauge.set(count);
        }
    }

    fn count(&self, action: &str) {
        self.actions.with_label_values(&[action]).inc();
    }
}
