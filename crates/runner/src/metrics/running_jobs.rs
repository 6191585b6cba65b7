//! The gauge of running jobs, read at each scrape.

use super::definition::JOBS;
use super::labels::{BoundedLabel, RunnerLabels, stage_label};
use executor_core::ActiveJobs;
use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Error, IntGaugeVec, Opts};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The value of `state`, `stage` and `executor_stage` in a series that keeps a runner without jobs visible.
const IDLE: &str = "idle";

/// Reads the list of running jobs. Clones share one gauge.
#[derive(Debug, Clone)]
pub(super) struct RunningJobs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    active: ActiveJobs,
    system_id: String,
    /// The runners of the settings.
    runners: Mutex<BTreeSet<RunnerLabels>>,
    executor_stages: BoundedLabel,
    gauge: IntGaugeVec,
    /// Two scrapes at a time would count into one gauge.
    one_at_a_time: Mutex<()>,
}

impl RunningJobs {
    pub(super) fn new(system_id: String) -> Result<Self, Error> {
        Ok(Self(Arc::new(Shared {
            active: ActiveJobs::new(),
            system_id,
            runners: Mutex::default(),
            executor_stages: BoundedLabel::default(),
            gauge: IntGaugeVec::new(Opts::new(JOBS.name, JOBS.help), JOBS.labels)?,
            one_at_a_time: Mutex::default(),
        })))
    }

    pub(super) fn active(&self) -> &ActiveJobs {
        &self.0.active
    }

    pub(super) fn add_runner(&self, labels: &RunnerLabels) {
        self.0.runners.lock().insert(labels.clone());
    }

    pub(super) fn remove_runner(&self, labels: &RunnerLabels) {
        self.0.runners.lock().remove(labels);
    }
}

impl Collector for RunningJobs {
    fn desc(&self) -> Vec<&Desc> {
        self.0.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Shared { gauge, .. } = &*self.0;
        let _alone = self.0.one_at_a_time.lock();
        gauge.reset();
        for labels in &*self.0.runners.lock() {
            let [runner, name, system_id] = labels.all();
            let idle = [runner, name, system_id, IDLE, IDLE, IDLE];
            gauge.with_label_values(&idle).set(0);
        }
        for job in self.0.active.scrape() {
            let labels = [
                job.runner_token.as_str(),
                &job.runner,
                &self.0.system_id,
                job.state.as_str(),
                stage_label(&job.stage),
                self.0.executor_stages.bound(job.executor_stage.as_str()),
            ];
            gauge.with_label_values(&labels).inc();
        }
        gauge.collect()
    }
}
