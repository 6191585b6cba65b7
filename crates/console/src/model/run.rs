use super::Outcome;
use crate::text::last_state;
use executor_core::{ChangedFiles, PipelineId, RetainedArtifact, TestTotals};
use jiff::Timestamp;
use parking_lot::Mutex;
use pipeline_insight::forecast::{Forecast, Outlook};
use scheduler::Status;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many bytes of a job's last line are kept.
const LONGEST_LINE: usize = 512;

/// The jobs of a run in the order in which they became known, with the state of each.
#[derive(Debug, Default)]
pub(crate) struct RunModel {
    pub(super) first_pipeline: Option<PipelineId>,
    pub(super) jobs: Vec<JobState>,
    pub(super) stages: Vec<StageState>,
    /// The positions of jobs, by their names in the file.
    pub(super) positions: HashMap<PipelineId, HashMap<Arc<str>, usize>>,
    /// The job found last: the next event is most likely about the same one.
    pub(super) last_found: Option<(PipelineId, Arc<str>, usize)>,
    pub(super) counts: Counts,
    pub(super) started: Option<Instant>,
    /// When the last job ended, unless another one runs or waits.
    pub(super) settled: Option<Instant>,
    /// How the first pipeline ended.
    pub(super) end: Option<Status>,
    pub(super) forecast: Option<Arc<Mutex<Forecast>>>,
    pub(super) outlook: Option<Outlook>,
}

/// A stage of one of the pipelines.
#[derive(Debug)]
pub(crate) struct StageState {
    /// Its name without control characters.
    pub(crate) name: String,
    /// Its name, after that of the job that started its pipeline.
    #[cfg_attr(
        not(any(feature = "full-screen", test)),
        expect(dead_code, reason = "lines do not show it")
    )]
    pub(crate) title: String,
    pub(crate) jobs: Vec<usize>,
    /// How many of its jobs still keep later ones waiting.
    pub(super) blocking: usize,
}

/// A job of the run.
#[derive(Debug)]
pub(crate) struct JobState {
    pub(crate) pipeline: PipelineId,
    /// Its name in the file.
    pub(crate) file_name: Arc<str>,
    /// Its name among those of all pipelines, without control characters: `deploy > build`.
    pub(crate) name: String,
    /// The position of its stage.
    pub(crate) stage: usize,
    /// The position of the first stage of its pipeline.
    pub(super) first_stage: usize,
    /// The positions of the jobs it needs; without them it waits for all earlier stages.
    pub(crate) needs: Option<Vec<usize>>,
    pub(crate) status: Status,
    /// When its last attempt started to run.
    pub(super) started: Option<Instant>,
    pub(crate) attempt: u32,
    /// Its failure lets the pipeline pass.
    pub(crate) may_fail: bool,
    /// How its last attempt ended.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) tests: Option<TestTotals>,
    pub(crate) coverage: Option<f64>,
    /// The tracked files that it changed without declaring it.
    pub(crate) changed: Option<ChangedFiles>,
    pub(crate) artifacts: Vec<RetainedArtifact>,
    /// The runner's stage that it is at.
    pub(crate) runner_stage: Option<Arc<str>>,
    /// The last line of its log, where the view shows it.
    pub(crate) last_line: String,
}

/// How many jobs are in which state.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) failed: usize,
    pub(crate) done: usize,
    pub(crate) skipped: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) manual: usize,
}

impl RunModel {
    /// Sets what knows how long the run will take.
    pub(crate) fn set_forecast(&mut self, forecast: Arc<Mutex<Forecast>>) {
        self.forecast = Some(forecast);
    }

    /// Asks the forecast how long the run will take from now.
    pub(crate) fn update_outlook(&mut self, now: Timestamp) {
        self.outlook = self
            .forecast
            .as_ref()
            .and_then(|forecast| forecast.lock().outlook(now));
    }

    /// Returns the forecast's last answer.
    pub(crate) fn outlook(&self) -> Option<&Outlook> {
        self.outlook.as_ref()
    }

    /// Sets the last line that a job wrote.
    pub(crate) fn set_last_line(&mut self, job: usize, line: &str) {
        let state = last_state(line);
        let last = &mut self.jobs[job].last_line;
        last.clear();
        last.push_str(&state[..state.floor_char_boundary(LONGEST_LINE)]);
    }

    /// Returns all jobs.
    pub(crate) fn jobs(&self) -> &[JobState] {
        &self.jobs
    }

    /// Returns all stages that have jobs.
    #[cfg(feature = "full-screen")]
    pub(crate) fn stages(&self) -> &[StageState] {
        &self.stages
    }

    /// Returns the pipeline that no job started.
    #[cfg(feature = "full-screen")]
    pub(crate) fn first_pipeline(&self) -> Option<PipelineId> {
        self.first_pipeline
    }

    /// Returns whether the run has started.
    pub(crate) fn has_started(&self) -> bool {
        self.started.is_some()
    }

    /// Returns how the first pipeline ended.
    pub(crate) fn end(&self) -> Option<Status> {
        self.end
    }

    /// Returns whether no job runs and none will start by itself.
    pub(crate) fn is_settled(&self) -> bool {
        let nothing_waits = self.counts.running == 0 && self.counts.waiting == 0;
        self.end.is_some() || (!self.jobs.is_empty() && nothing_waits)
    }

    /// Returns how long the run takes, without the time in which it was only kept open.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        let started = self.started.unwrap_or(now);
        let end = self.settled.unwrap_or(now);
        end.saturating_duration_since(started)
    }

    /// Returns how many jobs are in which state.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the jobs that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &JobState> {
        self.jobs.iter().filter(|job| job.is_running())
    }

    /// Returns the jobs that wait for something other than a person.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &JobState> {
        self.jobs.iter().filter(|job| is_waiting(job.status))
    }

    /// Returns what a job waits for.
    pub(crate) fn wait_reason(&self, job: &JobState) -> String {
        match job.status {
            Status::Pending => return "waits for a free worker".to_owned(),
            Status::Scheduled => return "waits for its delay to pass".to_owned(),
            Status::WaitingForResource => return "waits for its resource group".to_owned(),
            _ => {}
        }
        if let Some(needs) = &job.needs {
            let needs = needs.iter().map(|&at| &self.jobs[at]);
            let open = needs.filter(|need| blocks_others(need.status));
            let names: Vec<&str> = open.map(|need| need.name.as_str()).collect();
            if !names.is_empty() {
                return format!("waits for {}", names.join(", "));
            }
        } else {
            let mut earlier = self.stages[job.first_stage..job.stage].iter().rev();
            if let Some(stage) = earlier.find(|stage| stage.blocking > 0) {
                return format!("waits for stage {}", stage.name);
            }
        }
        "about to start".to_owned()
    }
}

impl JobState {
    /// Returns whether it runs.
    pub(crate) fn is_running(&self) -> bool {
        is_running(self.status)
    }

    /// Returns how long its attempt runs or ran.
    pub(crate) fn elapsed(&self, now: Instant) -> Option<Duration> {
        let started = self.started.filter(|_| self.is_running());
        let running = started.map(|started| now.saturating_duration_since(started));
        running.or(self.outcome.map(|outcome| outcome.duration))
    }
}

impl Counts {
    /// Returns the count of the jobs in the state of this one.
    pub(super) fn of(&mut self, job: &JobState) -> &mut usize {
        match job.status {
            Status::Failed if !job.may_fail => &mut self.failed,
            Status::Manual => &mut self.manual,
            Status::Skipped => &mut self.skipped,
            Status::Success | Status::Failed | Status::Canceled => &mut self.done,
            status if is_running(status) => &mut self.running,
            _ => &mut self.waiting,
        }
    }
}

fn is_running(status: Status) -> bool {
    matches!(status, Status::Running | Status::Canceling)
}

fn is_waiting(status: Status) -> bool {
    matches!(
        status,
        Status::Created | Status::Pending | Status::Scheduled | Status::WaitingForResource
    )
}

/// Returns whether a job of this status keeps later ones waiting.
pub(super) fn blocks_others(status: Status) -> bool {
    !status.is_final() && status != Status::Manual
}
