//! The runs of a project in a table.

use crate::text::{
    Row, Style, Tone, age, counted_ends, grid, of_them_reused, seconds, shown_name, strip_controls,
};
use executor_core::{FailureReason, ReusedFrom};
use jiff::Timestamp;
use scheduler::Status;
use scheduler::event::ParentJob;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use workstation::{JobHistory, Run, RunHistory, RunState};

/// A run as it is listed. Its form is that of `runwright history --json`.
#[derive(Debug, Serialize)]
pub struct ShownRun {
    /// Its number in its project.
    pub(crate) id: u64,
    /// The top of the project.
    project: PathBuf,
    state: &'static str,
    /// The process that runs it, while it runs and where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip)]
    stands: RunState,
    /// When its command was given.
    pub(crate) started_at: Timestamp,
    /// When its last known event happened.
    last_at: Option<Timestamp>,
    /// How long it took; of a run that did not end, until its last known event.
    duration_ms: u64,
    #[serde(rename = "ref")]
    reference: String,
    sha: String,
    source: String,
    exit_code: Option<u8>,
    /// How often it was started or resumed, from 1.
    lives: u32,
    jobs: Vec<ShownJob>,
    /// The job that started it, if it is a child pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ParentJob>,
    /// The child pipelines that its jobs started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<ShownRun>,
}

/// A job of a run.
#[derive(Debug, Serialize)]
struct ShownJob {
    name: String,
    stage: String,
    status: Status,
    allow_failure: bool,
    attempts: u32,
    exit_code: Option<i32>,
    failure_reason: Option<&'static str>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reused: Option<ReusedFrom>,
}

impl ShownRun {
    /// Returns a run as it is listed.
    pub fn of(run: &Run, history: &RunHistory) -> Self {
        let record = run.record();
        let begun = history.begun_at.unwrap_or(record.started_at);
        let duration = history.end.map(|end| end.duration).or_else(|| {
            let passed = history.last_at?.duration_since(begun);
            passed.try_into().ok()
        });
        let situation = &record.situation;
        let state = run.state(history);
        Self {
            id: run.id(),
            project: record.project.clone(),
            state: state.as_str(),
            pid: match state {
                RunState::Running { pid } => pid,
                _ => None,
            },
            stands: state,
            started_at: record.started_at,
            last_at: history.last_at,
            duration_ms: millis(duration.unwrap_or_default()),
            reference: situation.reference.clone(),
            sha: situation.sha.clone(),
            source: situation.source.clone(),
            exit_code: history.end.map(|end| end.exit_code),
            lives: history.attempts,
            jobs: history.planned().map(shown_job).collect(),
            parent: record.parent.clone(),
            children: Vec::new(),
        }
    }

    fn is_child_of(&self, other: &Self) -> bool {
        let parent = self.parent.as_ref();
        let is_parent = |it: &ParentJob| it.project.is_none() && it.pipeline.0 == other.id;
        self.project == other.project && parent.is_some_and(is_parent)
    }

    fn cells(&self, depth: usize) -> [String; 7] {
        let took = match self.stands {
            // The end of a killed run is unknown.
            RunState::Running { .. } | RunState::Killed { .. } | RunState::Damaged => {
                "-".to_owned()
            }
            _ => seconds(Duration::from_millis(self.duration_ms)),
        };
        [
            format!("{}{}", "  ".repeat(depth), self.id),
            self.state.to_owned(),
            age(Timestamp::now(), self.started_at),
            took,
            shown_name(&self.reference),
            self.counts(),
            String::new(),
        ]
    }

    /// Returns how many jobs have which status: `3 success, 1 failed`.
    fn counts(&self) -> String {
        let was_killed = matches!(self.stands, RunState::Killed { .. } | RunState::Damaged);
        let (told, cut_off): (Vec<&ShownJob>, Vec<_>) = self
            .jobs
            .iter()
            .partition(|job| !was_killed || job.status.is_final());
        let mut text = counted_ends(told.iter().map(|job| (job.status, job.allow_failure)));
        let reused = told.iter().filter(|job| job.reused.is_some());
        text.push_str(&of_them_reused(reused.count()));
        if !cut_off.is_empty() {
            let between = if text.is_empty() { "" } else { ", " };
            let _ = write!(
                text,
                "{between}{} interrupted or not started",
                cut_off.len()
            );
        }
        text
    }

    fn tone(&self) -> Tone {
        match self.stands {
            RunState::Success => Tone::Plain,
            RunState::Failed | RunState::Canceled | RunState::Killed { .. } | RunState::Damaged => {
                Tone::Bad
            }
            RunState::Skipped => Tone::Quiet,
            _ => Tone::Warning,
        }
    }
}

fn shown_job(job: &JobHistory) -> ShownJob {
    ShownJob {
        name: job.name.clone(),
        stage: job.stage.clone(),
        status: job.status,
        allow_failure: job.allow_failure,
        attempts: job.attempts,
        exit_code: job.exit_code,
        failure_reason: job.failure_reason.map(FailureReason::as_str),
        duration_ms: millis(job.duration),
        reused: job.reused,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the runs with child pipelines inside their parents, newest first.
pub fn nested(mut runs: Vec<ShownRun>) -> Vec<ShownRun> {
    // A child is younger than its parent, so the youngest of all has no child that is not in it yet.
    runs.sort_by_key(|run| std::cmp::Reverse(run.id));
    let mut at = 0;
    while at < runs.len() {
        match runs.iter().position(|other| runs[at].is_child_of(other)) {
            Some(parent) if parent > at => {
                let child = runs.remove(at);
                runs[parent - 1].children.insert(0, child);
            }
            _ => at += 1,
        }
    }
    runs.sort_by_key(|run| std::cmp::Reverse((run.started_at, run.id)));
    runs
}

/// Returns the runs as lines below each other; with their projects if those differ.
pub fn table(runs: &[ShownRun], with_projects: bool, style: Style) -> String {
    let mut rows = Vec::new();
    add_rows(&mut rows, runs, 0, with_projects);
    let project = if with_projects { "project" } else { "" };
    let heads = ["run", "state", "started", "took", "ref", "jobs", project];
    grid(heads, &rows, style)
}

fn add_rows(rows: &mut Vec<Row<7>>, runs: &[ShownRun], depth: usize, with_projects: bool) {
    for run in runs {
        let mut cells = run.cells(depth);
        if with_projects {
            let project = run.project.display().to_string();
            cells[6] = strip_controls(&project);
        }
        let tone = run.tone();
        rows.push(Row { cells, tone });
        add_rows(rows, &run.children, depth + 1, with_projects);
    }
}
