//! Measures the parts of a job.

use executor_core::{BuildStage, JobObserver, StageReport, TraceStream};
use parking_lot::Mutex;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Observes a job to measure its stages, its preparation and its cleanup.
#[derive(Debug, Default)]
pub(crate) struct StageClock(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// When the job began, or the runner's own stage before the preparation ended.
    prepare_began: Option<Instant>,
    prepare: Option<Duration>,
    last_stage_ended: Option<Instant>,
    stages: Vec<StageTime>,
}

/// A part of a job that has ended.
#[derive(Debug, Clone)]
pub(crate) struct StageTime {
    pub(crate) name: String,
    pub(crate) ended: SystemTime,
    pub(crate) took: Duration,
    pub(crate) succeeded: bool,
}

impl StageTime {
    /// Returns the preparation, which ends now.
    fn of_preparation(took: Duration, succeeded: bool) -> Self {
        Self {
            name: "prepare_executor".to_owned(),
            ended: SystemTime::now(),
            took,
            succeeded,
        }
    }
}

impl StageClock {
    /// Returns the time from the start of the job to its first stage, all attempts included; `None` if it has none.
    pub(crate) fn prepare(&self) -> Option<Duration> {
        self.0.lock().prepare
    }

    /// Returns the preparation and the stages, in the order of their ends.
    pub(crate) fn stages(&self) -> Vec<StageTime> {
        let times = self.0.lock();
        let mut stages = times.stages.clone();
        if times.prepare.is_none() {
            // It failed.
            let began = times.prepare_began.map(|it| it.elapsed());
            stages.extend(began.map(|took| StageTime::of_preparation(took, false)));
        }
        stages
    }

    /// Returns the time since the last stage ended.
    pub(crate) fn since_last_stage(&self) -> Option<Duration> {
        self.0.lock().last_stage_ended.map(|ended| ended.elapsed())
    }
}

impl JobObserver for StageClock {
    fn started(&self) {
        self.0.lock().prepare_began = Some(Instant::now());
    }

    fn stage_started(&self, stage: &BuildStage) {
        let mut times = self.0.lock();
        if *stage == BuildStage::ResolveSecrets || times.prepare.is_some() {
            return;
        }
        times.prepare = times.prepare_began.map(|began| began.elapsed());
        if let Some(took) = times.prepare {
            times.stages.push(StageTime::of_preparation(took, true));
        }
    }

    fn stage_finished(&self, report: &StageReport) {
        let mut times = self.0.lock();
        if report.stage == BuildStage::ResolveSecrets {
            times.prepare_began = Some(Instant::now());
        }
        times.last_stage_ended = Some(Instant::now());
        times.stages.push(StageTime {
            name: report.stage.to_string(),
            ended: SystemTime::now(),
            took: report.duration,
            succeeded: report.succeeded,
        });
    }

    // The log goes to the server by its file.
    fn output(&self, _stream: TraceStream, _data: &[u8]) {}

    fn idle(&self, _stream: TraceStream) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn preparation_and_cleanup_are_outside_the_stages() {
        let pass = async |seconds| tokio::time::advance(Duration::from_secs(seconds)).await;
        let clock = StageClock::default();
        let stage = async |stage: BuildStage, seconds| {
            clock.stage_started(&stage);
            pass(seconds).await;
            clock.stage_finished(&StageReport {
                stage,
                succeeded: true,
                duration: Duration::from_secs(seconds),
                result: None,
            });
        };
        clock.started();
        assert_eq!(clock.since_last_stage(), None);
        let stages = clock.stages();
        let failed = stages.first().map(|it| (&*it.name, it.succeeded));
        assert_eq!(failed, Some(("prepare_executor", false)));
        stage(BuildStage::ResolveSecrets, 1).await;
        pass(2).await;
        stage(BuildStage::PrepareScript, 4).await;
        stage(BuildStage::script(), 8).await;
        pass(16).await;
        assert_eq!(clock.prepare(), Some(Duration::from_secs(2)));
        assert_eq!(clock.since_last_stage(), Some(Duration::from_secs(16)));
    }
}
