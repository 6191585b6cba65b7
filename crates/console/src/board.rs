//! Where the jobs of a run stand, as far as the live view tells.

use super::clean::{last_state, shown_name};
use jiff::Timestamp;
use parking_lot::Mutex;
use pipeline_insight::forecast::{Forecast, Outlook};
use scheduler::Status;
use scheduler::event::JobNode;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// How much is kept of a job's last line.
const LONGEST_LINE: usize = 512;

/// The jobs of a run and what is known of each.
#[derive(Debug, Default)]
pub(crate) struct Board {
    jobs: Vec<Job>,
    index: HashMap<Arc<str>, usize>,
    stages: Vec<Stage>,
    begun: Option<Instant>,
    /// Who knows how long the run goes on.
    forecast: Option<Arc<Mutex<Forecast>>>,
    /// What that said last.
    outlook: Option<Outlook>,
}

#[derive(Debug)]
struct Stage {
    name: String,
    /// How many of its jobs still keep later ones waiting.
    open: usize,
}

/// A job of the run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) status: Status,
    /// When it began to run.
    pub(crate) since: Option<Instant>,
    pub(crate) last_line: String,
    stage: usize,
    /// The first stage of its pipeline.
    first_stage: usize,
    /// The jobs it needs, as positions; without them it waits for all earlier stages.
    pub(crate) needs: Option<Vec<usize>>,
    /// It failed, and that lets the pipeline pass.
    pub(crate) is_allowed: bool,
}

/// How many jobs are where.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) failed: usize,
    pub(crate) done: usize,
    pub(crate) skipped: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) manual: usize,
}

impl Board {
    /// Begins a run with these jobs.
    pub(crate) fn begin(&mut self, graph: &[JobNode], now: Instant) {
        *self = Self {
            begun: Some(now),
            forecast: self.forecast.take(),
            ..Self::default()
        };
        self.add(graph);
    }

    /// Takes who knows how long the run goes on.
    pub(crate) fn expect(&mut self, forecast: Arc<Mutex<Forecast>>) {
        self.forecast = Some(forecast);
    }

    /// Finds out how long the run goes on.
    pub(crate) fn look_ahead(&mut self, now: Timestamp) {
        self.outlook = self.forecast.as_ref().and_then(|forecast| {
            let mut forecast = forecast.lock();
            forecast.outlook(now)
        });
    }

    /// Returns what was found out, if anything is known.
    pub(crate) fn outlook(&self) -> Option<&Outlook> {
        self.outlook.as_ref()
    }

    /// Adds the jobs of a pipeline that a job of another one started; no other job has their names.
    pub(crate) fn add(&mut self, graph: &[JobNode]) {
        let (first_job, first_stage) = (self.jobs.len(), self.stages.len());
        let places = graph.iter().enumerate();
        let places = places.map(|(at, node)| (Arc::clone(&node.job), first_job + at));
        self.index.extend(places);
        let mut stages: HashMap<&str, usize> = HashMap::new();
        for node in graph {
            // Jobs come by stage, so stages appear in their order.
            let stage = *stages.entry(&node.stage).or_insert_with(|| {
                self.stages.push(Stage {
                    name: shown_name(&node.stage),
                    open: 0,
                });
                self.stages.len() - 1
            });
            self.stages[stage].open += 1;
            let place = |name: &Arc<str>| self.index.get(name).copied();
            let needs = node.needs.as_ref();
            self.jobs.push(Job {
                name: shown_name(&node.job),
                status: Status::Created,
                since: None,
                last_line: String::new(),
                stage,
                first_stage,
                is_allowed: false,
                needs: needs.map(|needs| needs.iter().filter_map(place).collect()),
            });
        }
    }

    /// Notes that a job has come to another status.
    pub(crate) fn set_status(&mut self, job: &str, status: Status, now: Instant) {
        let Some(&at) = self.index.get(job) else {
            return;
        };
        let job = &mut self.jobs[at];
        let stage = &mut self.stages[job.stage];
        match (is_out_of_the_way(job.status), is_out_of_the_way(status)) {
            (false, true) => stage.open = stage.open.saturating_sub(1),
            (true, false) => stage.open += 1,
            _ => {}
        }
        if status == Status::Running {
            job.since = Some(now);
            job.last_line.clear();
        }
        job.status = status;
    }

    /// Notes that the failure of a job lets the pipeline pass.
    pub(crate) fn allow(&mut self, job: &str) {
        if let Some(&at) = self.index.get(job) {
            self.jobs[at].is_allowed = true;
        }
    }

    /// Notes what a job wrote last.
    pub(crate) fn set_last_line(&mut self, job: &str, line: &str) {
        let state = last_state(line);
        let Some(&at) = self.index.get(job) else {
            return;
        };
        let last = &mut self.jobs[at].last_line;
        last.clear();
        last.push_str(&state[..state.floor_char_boundary(LONGEST_LINE)]);
    }

    /// Returns all jobs.
    #[cfg(feature = "full-screen")]
    pub(crate) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Returns when the run began.
    pub(crate) fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// Returns the jobs that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| is_running(job.status))
    }

    /// Returns the jobs that wait for something other than a person, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| is_waiting(job.status))
    }

    /// Returns what a job waits for.
    pub(crate) fn reason(&self, job: &Job) -> String {
        match job.status {
            Status::Pending => return "waits for a free worker".to_owned(),
            Status::Scheduled => return "waits for its delay to pass".to_owned(),
            Status::WaitingForResource => return "waits for its resource group".to_owned(),
            _ => {}
        }
        let names: Vec<&str> = if let Some(needs) = &job.needs {
            let needs = needs.iter().map(|&at| &self.jobs[at]);
            let open = needs.filter(|need| !is_out_of_the_way(need.status));
            open.map(|need| need.name.as_str()).collect()
        } else {
            let mut earlier = self.stages[job.first_stage..job.stage].iter().rev();
            match earlier.find(|stage| stage.open > 0) {
                Some(stage) => return format!("waits for stage {}", stage.name),
                None => Vec::new(),
            }
        };
        if names.is_empty() {
            return "about to start".to_owned();
        }
        format!("waits for {}", names.join(", "))
    }

    /// Returns how many jobs are where.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for job in &self.jobs {
            match job.status {
                Status::Failed if !job.is_allowed => counts.failed += 1,
                Status::Manual => counts.manual += 1,
                Status::Skipped => counts.skipped += 1,
                Status::Success | Status::Failed | Status::Canceled => counts.done += 1,
                status if is_running(status) => counts.running += 1,
                _ => counts.waiting += 1,
            }
        }
        counts
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

/// Returns whether nobody waits for a job of this status any more.
fn is_out_of_the_way(status: Status) -> bool {
    status.is_final() || status == Status::Manual
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a job of a graph; `needs` is a list of names, or `None`.
    pub(crate) fn node(job: &str, stage: &str, needs: Option<&[&str]>) -> JobNode {
        let needs = needs.map(|needs| needs.iter().map(|&name| name.into()).collect());
        JobNode {
            job: job.into(),
            stage: stage.into(),
            needs,
        }
    }

    fn reasons(board: &Board) -> Vec<String> {
        let jobs = board.waiting();
        let lines = jobs.map(|job| format!("{}: {}", job.name, board.reason(job)));
        lines.collect()
    }

    #[test]
    fn a_job_waits_for_its_needs_or_for_the_stage_before_it() {
        let now = Instant::now();
        let mut board = Board::default();
        let graph = [
            node("a", "build", None),
            node("b", "build", None),
            node("c", "test", Some(&["a", "b"])),
            node("d", "test", Some(&[])),
            node("e", "test", None),
            node("f", "deploy", None),
        ];
        board.begin(&graph, now);
        board.set_status("a", Status::Running, now);
        board.set_status("b", Status::Running, now);
        board.set_status("d", Status::Pending, now);
        let expect = [
            "c: waits for a, b",
            "d: waits for a free worker",
            "e: waits for stage build",
            "f: waits for stage test",
        ];
        assert_eq!(reasons(&board), expect);
        board.set_status("a", Status::Success, now);
        board.set_status("b", Status::Failed, now);
        board.set_status("c", Status::Skipped, now);
        board.set_status("e", Status::Skipped, now);
        board.set_status("d", Status::Running, now);
        assert_eq!(reasons(&board), ["f: waits for stage test"]);
        let mut counts = Counts {
            failed: 1,
            done: 1,
            skipped: 2,
            running: 1,
            waiting: 1,
            manual: 0,
        };
        assert_eq!(board.counts(), counts);
        board.allow("b");
        (counts.failed, counts.done) = (0, 2);
        assert_eq!(board.counts(), counts);
        // A retry makes the job stand in the way again.
        board.set_status("d", Status::Failed, now);
        assert_eq!(reasons(&board), ["f: about to start"]);
        board.set_status("d", Status::Pending, now);
        assert_eq!(reasons(&board)[1], "f: waits for stage test");
    }

    #[test]
    fn only_the_last_state_of_a_line_is_kept() {
        let now = Instant::now();
        let mut board = Board::default();
        board.begin(&[node("a", "test", None)], now);
        board.set_status("a", Status::Running, now);
        board.set_last_line("a", "10%\r20%");
        board.set_last_line("unknown", "x");
        assert_eq!(board.running().next().unwrap().last_line, "20%");
    }
}
