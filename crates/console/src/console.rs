//! Events as text for people.

use super::board::Board;
use super::clean::shown_name;
use super::entry::{Entry, Source};
use super::fold::Folding;
use super::job::{Extent, Job, folding_of_block};
use super::lineage::Lineage;
use super::lines::Piece;
use super::live::LiveFooter;
use super::outcome::Outcome;
use super::printer::Printer;
use super::region::WIDEST_NAME;
use super::shared::{Held, SharedWriter};
use super::style::{Mark, Tone};
use super::view::{Layout, View};
use super::width::{columns, fit};
use crate::quoted::word;
use executor_core::PipelineId;
use parking_lot::{Mutex, MutexGuard};
use pipeline_insight::forecast::Forecast;
use scheduler::Status;
use scheduler::event::{
    EventKind, EventSink, JobNode, LogLevel, LogStream, ParentJob, PipelineEvent, StageState,
};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Shows a run to people.
#[derive(Debug)]
pub struct Console {
    view: View,
    writer: SharedWriter,
    board: Arc<Mutex<Board>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lineage: Lineage,
    numbers: HashMap<Arc<str>, usize>,
    /// The jobs that run, by their number.
    jobs: HashMap<usize, Job>,
    /// The job that wrote last; the next line is most likely from the same.
    last: Option<(Arc<str>, usize)>,
    /// The width of the longest name, so that lines stand in columns.
    width: usize,
    /// The pipeline has one job, whose log needs no name and waits for nothing.
    alone: bool,
    /// The last line was an empty one.
    ends_empty: bool,
    /// What is to be shown at the next flush.
    out: Vec<u8>,
}

/// So much text does not wait for the next flush.
const ENOUGH: usize = 64 << 10;

/// What stands before the lines of a block.
const INDENT: &str = "  ";

impl Console {
    /// Shows runs on `writer`; what the live view draws is made for standard output's size.
    ///
    /// # Errors
    ///
    /// When the system refuses a thread.
    pub fn start(view: View, writer: impl Write + Send + 'static) -> io::Result<Self> {
        let board = Arc::new(Mutex::new(Board::default()));
        let writer = if view.layout == Layout::Live {
            let footer = LiveFooter::new(Arc::clone(&board), view.style);
            SharedWriter::with_footer(writer, Box::new(footer))?
        } else {
            SharedWriter::new(writer)?
        };
        Ok(Self {
            view,
            writer,
            board,
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

    /// Lets the live view tell how long the run goes on.
    pub fn expect(&self, forecast: &Arc<Mutex<Forecast>>) {
        self.lock_board().expect(Arc::clone(forecast));
    }

    /// Says that the terminal has another size.
    pub fn resized(&self) {
        self.writer.footer_changed();
    }

    /// Says that somebody else has had the terminal, as after `fg`.
    pub fn resumed(&self) {
        self.writer.footer_lost();
    }

    /// Steps aside: shows nothing more until the guard is dropped, and then what came meanwhile.
    /// Blocks for a moment.
    pub fn hold(&self) -> Held {
        self.flush();
        self.writer.hold()
    }

    /// Returns whether text that others write to the terminal would damage the view.
    pub fn is_live(&self) -> bool {
        self.view.layout == Layout::Live
    }

    /// Waits until all is shown, and wipes the live view.
    ///
    /// # Errors
    ///
    /// When text was lost.
    pub fn finish(&self) -> io::Result<()> {
        self.flush();
        self.writer.finish()
    }

    /// Appends to `out` what is to be shown now that this has happened.
    fn show(&self, state: &mut State, event: &PipelineEvent, out: &mut Vec<u8>) {
        let pipeline = event.pipeline;
        match &event.kind {
            EventKind::PipelineStarted { graph, parent, .. } => match parent {
                None => self.begin(state, graph),
                Some(parent) => self.begin_child(state, pipeline, parent, graph),
            },
            EventKind::JobLog {
                job,
                stream,
                line,
                cont,
                open,
                level,
            } => {
                let piece = Piece {
                    source: source_of(*stream, *level),
                    text: line,
                    continues: *cont,
                    open: *open,
                };
                let job = state.lineage.name(pipeline, job);
                self.piece(state, &job, piece, out);
            }
            EventKind::JobStage {
                job,
                name,
                state: progress,
                user_code,
                duration_ms,
            } => {
                let entry = match progress {
                    StageState::Started => Entry::StageStarted {
                        name,
                        user_code: *user_code,
                    },
                    ended => Entry::StageEnded {
                        succeeded: *ended == StageState::Succeeded,
                        millis: duration_ms.unwrap_or_default(),
                    },
                };
                let job = state.lineage.name(pipeline, job);
                if let Some(job) = state.job(&job) {
                    job.stage(entry, out);
                }
            }
            EventKind::JobFinished {
                job,
                status,
                exit_code,
                failure_reason,
                allow_failure,
                attempt,
                duration_ms,
                reused,
                ..
            } => {
                let outcome = Outcome {
                    status: *status,
                    exit_code: *exit_code,
                    reason: *failure_reason,
                    may_fail: *allow_failure,
                    attempt: *attempt,
                    duration: Duration::from_millis(*duration_ms),
                    reused: reused.map(|from| from.pipeline),
                };
                let job = state.lineage.name(pipeline, job);
                self.finished(state, &job, &outcome, out);
            }
            EventKind::JobStatus { job, status, .. } => {
                let name = state.lineage.name(pipeline, job);
                // A job that ran and waits again waits for what its pipeline waits for.
                let number = state.number(&name);
                let has_run = number.is_some_and(|number| state.jobs.contains_key(&number));
                self.status(state, &name, *status, out);
                if *status == Status::Manual {
                    let is_first = state.lineage.is_first(pipeline) && !has_run;
                    self.tell_of_manual(state, &name, is_first, out);
                }
            }
            EventKind::PipelineDone { .. } if !state.lineage.is_first(pipeline) => {}
            EventKind::PipelineDone { .. } => {
                *self.lock_board() = Board::default();
                self.writer.footer_changed();
            }
            EventKind::StageStart { .. } => {}
        }
    }

    fn begin(&self, state: &mut State, graph: &[JobNode]) {
        let names = graph.iter().map(|node| Arc::clone(&node.job)).enumerate();
        let widths = graph.iter().map(|node| columns(&shown_name(&node.job)));
        let width = widths.filter(|width| *width <= WIDEST_NAME).max();
        *state = State {
            numbers: names.map(|(number, name)| (name, number)).collect(),
            width: width.unwrap_or(0),
            alone: graph.len() == 1,
            ..State::default()
        };
        if self.is_live() {
            self.lock_board().begin(graph, Instant::now());
            self.writer.footer_changed();
        }
    }

    /// Begins a pipeline that a job of another one started.
    fn begin_child(
        &self,
        state: &mut State,
        pipeline: PipelineId,
        parent: &ParentJob,
        graph: &[JobNode],
    ) {
        let graph = state.lineage.add(pipeline, parent, graph);
        for node in &graph {
            let number = state.numbers.len();
            state.numbers.insert(Arc::clone(&node.job), number);
            let width = columns(&shown_name(&node.job));
            if width <= WIDEST_NAME {
                state.width = state.width.max(width);
            }
        }
        state.alone = false;
        if self.is_live() {
            self.lock_board().add(&graph);
            self.writer.footer_changed();
        }
    }

    fn status(&self, state: &mut State, job: &Arc<str>, status: Status, out: &mut Vec<u8>) {
        if self.is_live() {
            self.lock_board().set_status(job, status, Instant::now());
            self.writer.footer_changed();
        }
        if status == Status::Running
            && let Some(number) = state.number(job)
        {
            let view = match self.view.layout {
                Layout::Prefix => Job::streamed(self.prefixed(state, job, number)),
                Layout::Live if state.alone => Job::streamed(self.printer("", self.own_folding())),
                Layout::Live | Layout::Group => Job::kept(self.extent()),
            };
            state.jobs.insert(number, view);
        }
        // One that started a pipeline may wait, or be skipped, with that; then nothing ends it.
        if matches!(status, Status::Manual | Status::Skipped)
            && let Some(number) = state.number(job)
            && let Some(mut ended) = state.jobs.remove(&number)
        {
            ended.end_stream(out);
        }
    }

    fn tell_of_manual(&self, state: &mut State, job: &Arc<str>, is_first: bool, out: &mut Vec<u8>) {
        let style = self.view.style;
        let hint = if is_first {
            format!("manual: `runwright play {}` starts it", word(job))
        } else {
            // Only manual jobs of the first pipeline are named on the command line.
            "manual: it waits for somebody".to_owned()
        };
        let hint = style.paint(Tone::Quiet, &hint);
        match self.view.layout {
            Layout::Prefix => {
                let number = state.number(job).unwrap_or(0);
                self.prefixed(state, job, number).own_line(&hint, out);
            }
            Layout::Live | Layout::Group => {
                let mark = fit(style.mark(Mark::Manual), style.mark_width(), "");
                let name = shown_name(job);
                let name = fit(&name, state.width.max(columns(&name)), "");
                let line = format!("{mark} {name}  {:>6}  {hint}\n", "");
                out.extend_from_slice(line.as_bytes());
            }
        }
    }

    fn piece(&self, state: &mut State, name: &Arc<str>, piece: Piece<'_>, out: &mut Vec<u8>) {
        let Some(job) = state.job(name) else {
            return;
        };
        job.piece(piece, out);
        if self.is_live() && matches!(piece.source, Source::Stdout | Source::Stderr) {
            // What stands right above is not said again.
            let whole = if job.is_kept() { piece.text } else { "" };
            let line = job.unfinished(piece.source).unwrap_or(whole);
            if !line.trim().is_empty() || !job.is_kept() {
                self.lock_board().set_last_line(name, line);
            }
            self.writer.footer_changed();
        }
    }

    fn finished(&self, state: &mut State, name: &Arc<str>, outcome: &Outcome, out: &mut Vec<u8>) {
        let Some(number) = state.number(name) else {
            return;
        };
        // A job that never ran has no log, and its end is told all the same.
        let job = state.jobs.remove(&number);
        let mut job = job.unwrap_or_else(|| Job::kept(self.extent()));
        if self.is_live() && outcome.may_fail {
            self.lock_board().allow(name);
        }
        let style = self.view.style;
        job.end_stream(out);
        if self.view.layout == Layout::Prefix {
            let words = outcome.words(style);
            self.prefixed(state, name, number).own_line(&words, out);
            return;
        }
        out.extend_from_slice(
            outcome
                .line(&shown_name(name), state.width, style)
                .as_bytes(),
        );
        out.push(b'\n');
        state.ends_empty = false;
        let shows_log = self.view.layout == Layout::Group || outcome.status == Status::Failed;
        if job.is_kept() && shows_log {
            let folding = folding_of_block(self.view.verbose, outcome.succeeded());
            let mut any = false;
            job.show_block(self.printer(INDENT, folding), |text| {
                any |= !text.is_empty();
                out.extend_from_slice(text);
                if out.len() >= ENOUGH {
                    self.pass_on(out);
                }
            });
            if any {
                out.push(b'\n');
                state.ends_empty = true;
            }
        }
    }

    fn prefixed(&self, state: &State, job: &str, number: usize) -> Printer {
        let name = fit_name(job, state.width);
        let prefix = self
            .view
            .style
            .paint(Tone::Job(number), &format!("{name} |"));
        self.printer(&format!("{prefix} "), self.own_folding())
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

    fn own_folding(&self) -> Folding {
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

    fn lock_board(&self) -> MutexGuard<'_, Board> {
        self.board.lock()
    }
}

impl EventSink for Console {
    fn event(&self, event: &PipelineEvent) {
        let mut state = self.state.lock();
        let mut out = std::mem::take(&mut state.out);
        self.show(&mut state, event, &mut out);
        if out.len() >= ENOUGH {
            self.pass_on(&mut out);
        }
        state.out = out;
    }

    fn flush(&self) {
        let mut state = self.state.lock();
        self.pass_on(&mut state.out);
    }
}

impl State {
    fn number(&mut self, name: &Arc<str>) -> Option<usize> {
        if let Some((last, number)) = &self.last
            && Arc::ptr_eq(last, name)
        {
            return Some(*number);
        }
        let number = *self.numbers.get(name)?;
        self.last = Some((Arc::clone(name), number));
        Some(number)
    }

    fn job(&mut self, name: &Arc<str>) -> Option<&mut Job> {
        let number = self.number(name)?;
        self.jobs.get_mut(&number)
    }
}

fn fit_name(name: &str, width: usize) -> String {
    let name = shown_name(name);
    fit(&name, width.max(columns(&name)), "")
}

/// Returns who wrote a line.
pub(crate) fn source_of(stream: LogStream, level: Option<LogLevel>) -> Source {
    match (stream, level) {
        (_, Some(LogLevel::Warning)) => Source::Warning,
        (_, Some(LogLevel::Info)) => Source::Info,
        (LogStream::Stdout, None) => Source::Stdout,
        (LogStream::Stderr, None) => Source::Stderr,
        (LogStream::System, None) => Source::Service,
    }
}
