//! The sink that shows the events of a run as lines.

use super::fold::Folding;
use super::job_log::{Extent, JobLog, block_folding};
use super::live::{LiveFooter, WIDEST_NAME};
use super::printer::Printer;
use super::writer::{Held, SharedWriter};
use crate::log::{Piece, Source};
use crate::model::{Change, JobState, Outcome, RunModel};
use crate::progress::{Layout, View};
use crate::streams::{ErrorView, show_errors_on};
use crate::text::{Mark, Tone, columns, fit, seconds, shell_argument};
use executor_core::PipelineId;
use jiff::SignedDuration;
use parking_lot::{Mutex, MutexGuard};
use pipeline_insight::forecast::Forecast;
use scheduler::Status;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

/// Shows a run as lines.
#[derive(Debug)]
pub struct Console {
    view: View,
    writer: SharedWriter,
    run: Arc<Mutex<RunModel>>,
    /// Locked before the run where both are needed.
    state: Mutex<State>,
}

/// What this view has besides the run.
#[derive(Debug, Default)]
struct State {
    /// The logs of the jobs that run, by their positions.
    logs: HashMap<usize, JobLog>,
    /// The job that wrote the last line: its pipeline, its name in events and its position. Lines come in floods.
    writing: Option<(PipelineId, Arc<str>, usize)>,
    /// The width of the longest name, so that lines are aligned.
    name_width: usize,
    /// The last line was an empty one.
    ends_empty: bool,
    /// What the next flush shows.
    out: Vec<u8>,
}

/// More text than this does not wait for the next flush.
const FULL: usize = 64 << 10;

/// Begins the lines of a block.
const INDENT: &str = "  ";

impl Console {
    /// Shows runs on `writer`; the live view is drawn for the size of standard output.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn start(view: View, writer: impl Write + Send + 'static) -> io::Result<Self> {
        let run = Arc::new(Mutex::new(RunModel::default()));
        let writer = if view.layout == Layout::Live {
            let footer = LiveFooter::new(Arc::clone(&run), view.style);
            SharedWriter::with_footer(writer, Box::new(footer))?
        } else {
            SharedWriter::new(writer)?
        };
        Ok(Self {
            view,
            writer,
            run,
            state: Mutex::default(),
        })
    }

    /// Shows text of the caller's own, in whole lines.
    pub fn write(&self, text: &str) {
        let mut state = self.state.lock();
        let after_empty = std::mem::take(&mut state.ends_empty);
        // One empty line between two parts is enough.
        let text = text
            .strip_prefix('\n')
            .filter(|_| after_empty)
            .unwrap_or(text);
        state.out.extend_from_slice(text.as_bytes());
        self.pass_on(&mut state.out);
    }

    /// Sets the forecast from which the live view shows the time left.
    pub fn set_forecast(&self, forecast: &Arc<Mutex<Forecast>>) {
        self.run().set_forecast(Arc::clone(forecast));
    }

    /// Reports that the terminal has another size.
    pub fn resized(&self) {
        self.writer.footer_changed();
    }

    /// Reports that another program had the terminal, as after `fg`.
    pub fn resumed(&self) {
        self.writer.footer_lost();
    }

    /// Shows nothing until the guard is dropped, and then what came meanwhile. Blocks for a moment.
    pub fn hold(&self) -> Held {
        self.flush();
        self.writer.hold()
    }

    /// Returns whether text that others write to the terminal would damage the view.
    pub fn is_live(&self) -> bool {
        self.view.layout == Layout::Live
    }

    /// Shows what is written to standard error above the live region from now on, if there is one and
    /// standard error is a terminal.
    pub fn show_errors_above(self: &Arc<Self>) {
        if self.is_live() {
            show_errors_on(self);
        }
    }

    /// Waits until everything is shown, and wipes the live view.
    ///
    /// # Errors
    ///
    /// When text was lost.
    pub fn finish(&self) -> io::Result<()> {
        self.flush();
        self.writer.finish()
    }

    /// Appends to `out` what an event shows.
    fn show(&self, state: &mut State, event: &PipelineEvent, out: &mut Vec<u8>) {
        if let EventKind::JobLog { job, .. } = &event.kind
            && let Some((pipeline, name, at)) = &state.writing
            && *pipeline == event.pipeline
            && Arc::ptr_eq(name, job)
            && let Some(piece) = Piece::of(&event.kind)
        {
            return self.piece(state, *at, piece, out);
        }
        let change = self.run().apply(event, Instant::now);
        match change {
            Change::Started => {
                *state = State::default();
                self.widen_names(state);
            }
            Change::ChildStarted => self.widen_names(state),
            Change::Status { job, status } => {
                self.status(state, job, status, out);
                if let EventKind::JobStatus {
                    until: Some(until), ..
                } = event.kind
                {
                    self.delay_hint(state, job, until.duration_since(event.at), out);
                }
            }
            Change::Log { job, piece } => {
                if let EventKind::JobLog { job: name, .. } = &event.kind {
                    state.writing = Some((event.pipeline, Arc::clone(name), job));
                }
                return self.piece(state, job, piece, out);
            }
            Change::Stage { job, entry } => {
                if let Some(log) = state.logs.get_mut(&job) {
                    log.stage(entry, out);
                }
                return;
            }
            Change::Finished { job, outcome } => self.finished(state, job, &outcome, out),
            Change::Done => {}
            Change::None => return,
        }
        if self.is_live() {
            self.writer.footer_changed();
        }
    }

    /// Makes the column of names as wide as the longest name that fits.
    fn widen_names(&self, state: &mut State) {
        let run = self.run();
        let widths = run.jobs().iter().map(|job| columns(&job.name));
        let widest = widths.filter(|width| *width <= WIDEST_NAME).max();
        state.name_width = widest.unwrap_or(0);
    }

    fn status(&self, state: &mut State, job: usize, status: Status, out: &mut Vec<u8>) {
        let has_run = state.logs.contains_key(&job);
        if status == Status::Running {
            let log = match self.view.layout {
                Layout::Prefix => JobLog::streamed(self.prefixed(state, job)),
                // The log of the only job needs no name and waits for nothing.
                Layout::Live if self.run().jobs().len() == 1 => {
                    JobLog::streamed(self.printer("", self.stream_folding()))
                }
                Layout::Live | Layout::Group => JobLog::kept(self.extent()),
            };
            state.logs.insert(job, log);
        }
        // A trigger job may become manual or be skipped together with its pipeline; no event ends it.
        if matches!(status, Status::Manual | Status::Skipped)
            && let Some(mut ended) = state.logs.remove(&job)
        {
            ended.end_stream(out);
        }
        if status == Status::Manual {
            self.manual_hint(state, job, has_run, out);
        }
    }

    /// Shows how a manual job is started. One that has run waits for a job of the pipeline it started.
    fn manual_hint(&self, state: &State, job: usize, has_run: bool, out: &mut Vec<u8>) {
        let run = self.run();
        let known = &run.jobs()[job];
        let hint = if run.is_first(known.pipeline) && !has_run {
            format!("manual: `{}` starts it", play_command(known))
        } else {
            // The command line names manual jobs of the first pipeline only.
            "manual: it waits to be started".to_owned()
        };
        drop(run);
        self.hint(state, job, Some(Mark::Manual), &hint, out);
    }

    /// Shows how long a job is delayed, and how it is started before.
    fn delay_hint(&self, state: &State, job: usize, delay: SignedDuration, out: &mut Vec<u8>) {
        let run = self.run();
        let known = &run.jobs()[job];
        let delay = seconds(delay.unsigned_abs());
        let mut hint = format!("delayed: it starts in {delay}");
        if run.is_first(known.pipeline) {
            let _ = write!(hint, "; `{}` starts it now", play_command(known));
        }
        drop(run);
        self.hint(state, job, None, &hint, out);
    }

    /// Shows what a job waits for.
    fn hint(&self, state: &State, job: usize, mark: Option<Mark>, hint: &str, out: &mut Vec<u8>) {
        let style = self.view.style;
        let name = self.run().jobs()[job].name.clone();
        let hint = style.paint(Tone::Quiet, hint);
        match self.view.layout {
            Layout::Prefix => self.prefixed(state, job).own_line(&hint, out),
            Layout::Live | Layout::Group => {
                let mark = mark.map_or("", |mark| style.mark(mark));
                let mark = fit(mark, style.mark_width(), "");
                let name = fit(&name, state.name_width.max(columns(&name)), "");
                let line = format!("{mark} {name}  {:>6}  {hint}\n", "");
                out.extend_from_slice(line.as_bytes());
            }
        }
    }

    fn piece(&self, state: &mut State, job: usize, piece: Piece<'_>, out: &mut Vec<u8>) {
        let Some(log) = state.logs.get_mut(&job) else {
            return;
        };
        log.piece(piece, out);
        if self.is_live() && matches!(piece.source, Source::Stdout | Source::Stderr) {
            // The footer does not repeat a whole line that is shown right above it.
            let whole = if log.is_kept() { piece.text } else { "" };
            let line = log.unfinished(piece.source).unwrap_or(whole);
            if !line.trim().is_empty() || !log.is_kept() {
                self.run().set_last_line(job, line);
            }
            self.writer.footer_changed();
        }
    }

    fn finished(&self, state: &mut State, job: usize, outcome: &Outcome, out: &mut Vec<u8>) {
        // A job that never ran has no log, and its end is shown all the same.
        let log = state.logs.remove(&job);
        let mut log = log.unwrap_or_else(|| JobLog::kept(self.extent()));
        let style = self.view.style;
        log.end_stream(out);
        if self.view.layout == Layout::Prefix {
            let words = outcome.words(style);
            self.prefixed(state, job).own_line(&words, out);
            return;
        }
        let line = outcome.line(&self.run().jobs()[job].name, state.name_width, style);
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        state.ends_empty = false;
        let shows_log = self.view.layout == Layout::Group || outcome.status == Status::Failed;
        if log.is_kept() && shows_log {
            let folding = block_folding(self.view.verbose, outcome.succeeded());
            let mut any = false;
            log.show_block(self.printer(INDENT, folding), |text| {
                any |= !text.is_empty();
                out.extend_from_slice(text);
                if out.len() >= FULL {
                    self.pass_on(out);
                }
            });
            if any {
                out.push(b'\n');
                state.ends_empty = true;
            }
        }
    }

    /// Returns a printer whose lines begin with the name of a job.
    fn prefixed(&self, state: &State, job: usize) -> Printer {
        let run = self.run();
        let name = &run.jobs()[job].name;
        let name = fit(name, state.name_width.max(columns(name)), "");
        let prefix = self.view.style.paint(Tone::Job(job), &format!("{name} |"));
        self.printer(&format!("{prefix} "), self.stream_folding())
    }

    fn printer(&self, prefix: &str, folding: Folding) -> Printer {
        Printer::new(prefix.to_owned(), self.view.style, folding)
    }

    fn extent(&self) -> Extent {
        if self.is_live() && !self.view.verbose {
            Extent::End
        } else {
            Extent::Whole
        }
    }

    fn stream_folding(&self) -> Folding {
        if self.view.verbose {
            Folding::Verbose
        } else {
            Folding::Own
        }
    }

    fn pass_on(&self, out: &mut Vec<u8>) {
        self.writer.write(out);
        out.clear();
    }

    fn run(&self) -> MutexGuard<'_, RunModel> {
        self.run.lock()
    }
}

/// Returns the command that starts a job of the first pipeline.
fn play_command(job: &JobState) -> String {
    format!("runwright play {}", shell_argument(&job.file_name))
}

impl EventSink for Console {
    fn event(&self, event: &PipelineEvent) {
        let mut state = self.state.lock();
        let mut out = std::mem::take(&mut state.out);
        self.show(&mut state, event, &mut out);
        if out.len() >= FULL {
            self.pass_on(&mut out);
        }
        state.out = out;
    }

    fn flush(&self) {
        let mut state = self.state.lock();
        self.pass_on(&mut state.out);
    }
}

impl ErrorView for Console {
    fn show(&self, text: &str) -> bool {
        self.write(text);
        true
    }
}
