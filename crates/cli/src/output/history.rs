//! The runs of a project in a table.

use super::clean::{shown_name, strip_controls};
use super::style::{Style, Tone};
use super::time::{age, seconds};
use super::width::{columns, fit};
use jiff::Timestamp;
use runwright::local::{JobHistory, Run, RunHistory, RunState};
use runwright::pipeline::Status;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// A run as it is listed. Its form is that of `runwright history --json`.
#[derive(Debug, Serialize)]
pub(crate) struct ShownRun {
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
    /// When it was asked for.
    pub(crate) started_at: Timestamp,
    /// When the last thing happened that is known.
    last_at: Option<Timestamp>,
    /// How long it took; of a run that did not end, until the last thing that is known.
    duration_ms: u64,
    #[serde(rename = "ref")]
    reference: String,
    sha: String,
    source: String,
    exit_code: Option<u8>,
    /// How often it was begun: 1, and one more for each time somebody went on with it.
    lives: u32,
    jobs: Vec<ShownJob>,
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
}

impl ShownRun {
    /// Returns what is shown of a run.
    pub(crate) fn of(run: &Run, history: &RunHistory) -> Self {
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
            lives: history.lives,
            jobs: history.planned().map(shown_job).collect(),
        }
    }

    fn row(&self) -> [String; 6] {
        let took = match self.stands {
            RunState::Running { .. } => "-".to_owned(),
            _ => seconds(Duration::from_millis(self.duration_ms)),
        };
        [
            self.id.to_string(),
            self.state.to_owned(),
            age(Timestamp::now(), self.started_at),
            took,
            shown_name(&self.reference),
            self.counts(),
        ]
    }

    /// Returns how many jobs stand where: `3 success, 1 failed`.
    fn counts(&self) -> String {
        let mut counts: Vec<(Status, usize)> = Vec::new();
        for job in &self.jobs {
            match counts.iter_mut().find(|(status, _)| *status == job.status) {
                Some((_, count)) => *count += 1,
                None => counts.push((job.status, 1)),
            }
        }
        let words = counts
            .iter()
            .map(|(status, count)| format!("{count} {status}"));
        words.collect::<Vec<_>>().join(", ")
    }

    fn tone(&self) -> Tone {
        match self.stands {
            RunState::Success => Tone::Good,
            RunState::Failed | RunState::Canceled | RunState::Killed { .. } => Tone::Bad,
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
        failure_reason: job.failure_reason.map(|reason| reason.as_str()),
        duration_ms: millis(job.duration),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The heads of the columns.
const HEADS: [&str; 6] = ["run", "state", "started", "took", "ref", "jobs"];

/// Returns the runs as lines below each other; with their projects if those differ.
pub(crate) fn table(runs: &[ShownRun], with_projects: bool, style: Style) -> String {
    let rows: Vec<_> = runs.iter().map(ShownRun::row).collect();
    let mut widths = HEADS.map(columns);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns(cell).max(*width);
        }
    }
    let line = |cells: &[String], tone: Tone| {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = fit(cell, width, "");
            let gap = if at == 0 { "" } else { "  " };
            // The state says how it went, and has the colour.
            let cell = if at == 1 {
                style.paint(tone, &cell)
            } else {
                cell
            };
            line = line + gap + &cell;
        }
        line.trim_end().to_owned()
    };
    let heads = line(&HEADS.map(ToOwned::to_owned), Tone::Plain);
    let mut text = style.paint(Tone::Quiet, &heads) + "\n";
    for (run, row) in runs.iter().zip(&rows) {
        text += &line(row, run.tone());
        if with_projects {
            text += &format!("  {}", strip_controls(&run.project.display().to_string()));
        }
        text += "\n";
    }
    text
}
