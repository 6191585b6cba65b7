use console::{error_line, print, strip_controls};
use parking_lot::{Mutex, MutexGuard};
use scheduler::event::{EventKind, EventSink, LogStream, PipelineEvent, StageState};
use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};

/// The number of lines kept of a job's log, to show if it fails.
const MOST_LINES: usize = 200;

/// Reports what happens before a job is entered, and passes on the output of a command in it.
#[derive(Debug)]
pub(super) struct ShellProgress {
    /// The entered job.
    pub(super) job: OnceLock<String>,
    /// Whether the output of its scripts is passed on.
    passes_on: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    logs: HashMap<Arc<str>, VecDeque<String>>,
    /// Whether the command is running.
    is_running: bool,
    /// Whether the echo of the command was left out.
    is_echo_over: bool,
}

impl ShellProgress {
    pub(super) fn new(passes_on: bool) -> Self {
        Self {
            job: OnceLock::new(),
            passes_on,
            state: Mutex::default(),
        }
    }

    /// Shows the last lines of a job's log, to explain why it could not be entered.
    pub(super) fn show_log(&self, job: &str) {
        let lines = self.state().logs.remove(job).unwrap_or_default();
        for line in lines {
            error_line(&strip_controls(&line));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn is_entered(&self, job: &str) -> bool {
        self.job.get().is_some_and(|it| it == job)
    }
}

impl EventSink for ShellProgress {
    fn event(&self, event: &PipelineEvent) {
        let mut state = self.state();
        match &event.kind {
            EventKind::JobStage {
                job,
                state: stage_state,
                user_code: true,
                ..
            } if self.passes_on && self.is_entered(job) => {
                state.is_running = *stage_state == StageState::Started;
            }
            EventKind::JobLog {
                job,
                stream,
                line,
                open,
                ..
            } => {
                if state.is_running && self.is_entered(job) && *stream != LogStream::System {
                    if !state.is_echo_over && *stream == LogStream::Stdout {
                        // The script echoes the command that it is about to run.
                        state.is_echo_over = !*open;
                        return;
                    }
                    pass_on(*stream, line, *open);
                    return;
                }
                let log = state.logs.entry(Arc::clone(job)).or_default();
                if log.len() == MOST_LINES {
                    log.pop_front();
                }
                log.push_back(line.clone());
            }
            EventKind::JobFinished { job, status, .. } if !self.is_entered(job) => {
                let name = strip_controls(job);
                error_line(&format!("{name}: {}", status.as_str()));
                drop(state);
                if *status != scheduler::Status::Success {
                    self.show_log(job);
                }
            }
            _ => {}
        }
    }
}

/// Writes a line of the command to the stream it came from. A closed reader is not an error.
fn pass_on(stream: LogStream, line: &str, is_open: bool) {
    let mut text = line.to_owned();
    if !is_open {
        text.push('\n');
    }
    if stream == LogStream::Stderr {
        let _ = std::io::stderr().write_all(text.as_bytes());
    } else {
        let _ = print(text.as_bytes());
    }
}
