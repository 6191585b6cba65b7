//! Events as lines for people.

use super::shared::SharedWriter;
use super::style::{Style, Tone, strip_controls};
use runwright::pipeline::Status;
use runwright::pipeline::event::{EventKind, EventSink, LogStream, PipelineEvent};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Shows a run line by line, each line of a job behind the job's name.
#[derive(Debug)]
pub struct Console {
    style: Style,
    writer: SharedWriter,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    jobs: HashMap<Arc<str>, usize>,
    /// The width of the longest name, so that the lines stand in a column.
    width: usize,
}

/// Names longer than this do not widen the column.
const WIDEST_NAME: usize = 28;

impl Console {
    /// Shows runs on `writer`.
    pub fn new(writer: SharedWriter, style: Style) -> Self {
        Self {
            style,
            writer,
            state: Mutex::default(),
        }
    }

    fn line(&self, state: &State, job: &Arc<str>, text: &str) {
        let number = state.jobs.get(job).copied().unwrap_or(0);
        let padded = format!("{:<width$} |", strip_controls(job), width = state.width);
        let prefix = self.style.paint(Tone::Job(number), &padded);
        self.writer.write(
            format!(
                "{prefix} {text}
"
            )
            .as_bytes(),
        );
    }

    fn show(&self, state: &mut State, kind: &EventKind) {
        match kind {
            EventKind::PipelineStarted { jobs, .. } => {
                let names = jobs.iter().cloned().enumerate();
                state.jobs = names.map(|(number, name)| (name, number)).collect();
                let widths = jobs.iter().map(|name| name.chars().count());
                state.width = widths
                    .filter(|width| *width <= WIDEST_NAME)
                    .max()
                    .unwrap_or(0);
            }
            EventKind::JobLog {
                job, stream, line, ..
            } => {
                let text = match (stream, self.style.has_colours()) {
                    (LogStream::System, _) => self.style.paint(Tone::Quiet, &strip_controls(line)),
                    (_, true) => line.trim_end_matches('\r').to_owned(),
                    (_, false) => strip_controls(line),
                };
                if *stream != LogStream::System || !text.trim().is_empty() {
                    self.line(state, job, &text);
                }
            }
            EventKind::JobFinished {
                job,
                status,
                exit_code,
                failure_reason,
                allow_failure,
                duration_ms,
                ..
            } => {
                let tone = match status {
                    Status::Success => Tone::Good,
                    Status::Failed if *allow_failure => Tone::Warning,
                    _ => Tone::Bad,
                };
                let mut words = vec![self.style.paint(tone, &status.to_string())];
                match (exit_code, failure_reason) {
                    (Some(code), _) if *code != 0 => words.push(format!("exit code {code}")),
                    (None, Some(reason)) => words.push(reason.to_string()),
                    _ => {}
                }
                if *status == Status::Failed && *allow_failure {
                    words.push("allowed".to_owned());
                }
                words.push(seconds(*duration_ms));
                self.line(state, job, &words.join(", "));
            }
            EventKind::JobStatus {
                job,
                status: Status::Manual,
                ..
            } => {
                let text = self
                    .style
                    .paint(Tone::Quiet, "manual: play it with --manual");
                self.line(state, job, &text);
            }
            EventKind::StageStart { .. }
            | EventKind::JobStatus { .. }
            | EventKind::JobStage { .. }
            | EventKind::PipelineDone { .. } => {}
        }
    }
}

impl EventSink for Console {
    fn event(&self, event: &PipelineEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.show(&mut state, &event.kind);
    }
}

/// Returns a time as people read it: `0.3 s`, `2 min 5 s`.
pub(super) fn seconds(millis: u64) -> String {
    let whole = millis / 1000;
    match whole {
        0..=59 => format!("{whole}.{} s", millis % 1000 / 100),
        60..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(0), "0.0 s");
        assert_eq!(seconds(1_250), "1.2 s");
        assert_eq!(seconds(125_000), "2 min 5 s");
        assert_eq!(seconds(7_260_000), "2 h 1 min");
    }
}
