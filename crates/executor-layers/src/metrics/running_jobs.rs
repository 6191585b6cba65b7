//! The gauge of running jobs, read at each scrape.

use super::definition::JOBS;
use super::labels::{BoundedLabel, stage_label};
use executor_core::ActiveJobs;
use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Error, IntGaugeVec, Opts};
use std::borrow::Cow;

/// Reads the workers' list of running jobs; it never waits for an executor in `run`.
#[derive(Debug)]
pub(super) struct RunningJobsGauge {
    active: ActiveJobs,
    system_id: String,
    executor_stages: BoundedLabel,
    gauge: IntGaugeVec,
    /// Two concurrent scrapes would count into one gauge.
    one_at_a_time: Mutex<()>,
}

impl RunningJobsGauge {
    pub(super) fn new(active: ActiveJobs, system_id: String) -> Result<Self, Error> {
        Ok(Self {
            active,
            system_id,
            executor_stages: BoundedLabel::default(),
            gauge: IntGaugeVec::new(Opts::new(JOBS.name, JOBS.help), JOBS.labels)?,
            one_at_a_time: Mutex::new(()),
        })
    }
}

impl Collector for RunningJobsGauge {
    fn desc(&self) -> Vec<&Desc> {
        self.gauge.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _alone = self.one_at_a_time.lock();
        self.gauge.reset();
        for job in self.active.scrape() {
            let labels = [
                job.runner_token.as_str(),
                &job.runner,
                &self.system_id,
                job.state.as_str(),
                &stage_label(Cow::Borrowed(&job.stage)),
                self.executor_stages.bound(job.executor_stage.as_str()),
            ];
            self.gauge.with_label_values(&labels).inc();
        }
        self.gauge.collect()
    }
}
