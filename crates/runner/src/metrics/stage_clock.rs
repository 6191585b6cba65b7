//! Measures the parts of a job that have no stage report.

use executor_core::{BuildStage, JobObserver, StageReport, TraceStream};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Observes a job to measure its preparation and its cleanup.
#[derive(Debug, Default)]
pub(crate) struct StageClock(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// When the job began, or the runner's own stage before the preparation ended.
    prepare_began: Option<Instant>,
    prepare: Option<Duration>,
    last_stage_ended: Option<Instant>,
}

impl StageClock {
    /// Returns the time from the start of the job to its first stage, all attempts included; `None` if it has none.
    pub(crate) fn prepare(&self) -> Option<Duration> {
        self.0.lock().prepare
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
    }

    fn stage_finished(&self, report: &StageReport) {
        let mut times = self.0.lock();
        if report.stage == BuildStage::ResolveSecrets {
            times.prepare_began = Some(Instant::now());
        }
        times.last_stage_ended = Some(Instant::now());
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
        stage(BuildStage::ResolveSecrets, 1).await;
        pass(2).await;
        stage(BuildStage::PrepareScript, 4).await;
        stage(BuildStage::script(), 8).await;
        pass(16).await;
        assert_eq!(clock.prepare(), Some(Duration::from_secs(2)));
        assert_eq!(clock.since_last_stage(), Some(Duration::from_secs(16)));
    }
}
