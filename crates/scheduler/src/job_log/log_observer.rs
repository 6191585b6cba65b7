use super::coverage::CoverageFinder;
use crate::event::{Burst, EventKind, EventLog, LogLevel, LogStream, StageState};
use executor_core::stage::BuildStage;
use executor_core::{JobObserver, StageReport, TraceStream};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use trace::{Line, LineSplitter};

/// How many of a job's last lines a report shows.
const LAST_LINES: usize = 20;
/// How many bytes of each of them are kept.
const LONGEST_LAST_LINE: usize = 1024;

/// GitLab's name for the part of the log before the first stage.
const PREPARE: &str = "prepare_executor";

/// Turns the output of one attempt of a job into events.
#[derive(Debug)]
pub(crate) struct LogObserver {
    job: Arc<str>,
    events: Arc<EventLog>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    splitters: HashMap<TraceStream, LineSplitter>,
    last_lines: LastLines,
    /// Finds the job's coverage, if the job has a pattern for it.
    coverage: Option<CoverageFinder>,
    /// When the job began, until its first stage begins.
    preparing: Option<Instant>,
}

/// The beginning of each of the last lines, with its stream.
type LastLines = VecDeque<(TraceStream, String)>;

impl LogObserver {
    /// Returns an observer; `coverage` is the job's pattern.
    pub(crate) fn new(job: Arc<str>, events: Arc<EventLog>, coverage: Option<&str>) -> Self {
        let state = State {
            coverage: coverage.and_then(CoverageFinder::new),
            ..State::default()
        };
        Self {
            job,
            events,
            state: Mutex::new(state),
        }
    }

    /// Returns the coverage found so far.
    pub(crate) fn coverage(&self) -> Option<f64> {
        self.lock().coverage.as_ref()?.found()
    }

    /// Emits the rest of unfinished lines, and returns the last lines.
    pub(crate) fn finish(&self, succeeded: bool) -> Vec<String> {
        let mut state = self.lock();
        self.end_lines(&mut state);
        self.end_preparation(&mut state, succeeded);
        let last_lines = std::mem::take(&mut state.last_lines);
        last_lines.into_iter().map(|(_, line)| line).collect()
    }

    /// Emits the rest of unfinished lines; further output begins a new line.
    fn end_lines(&self, state: &mut State) {
        let mut streams: Vec<_> = std::mem::take(&mut state.splitters).into_iter().collect();
        streams.sort_by_key(|(stream, _)| *stream);
        for (stream, mut splitter) in streams {
            let State {
                last_lines,
                coverage,
                ..
            } = state;
            let mut lines = self.line_burst(stream, last_lines, coverage);
            splitter.finish(&mut |line| lines.take(&line));
        }
    }

    /// Ends the preparation if it has not ended, because a stage begins.
    fn leave_preparation(&self) {
        let mut state = self.lock();
        self.end_lines(&mut state);
        self.end_preparation(&mut state, true);
    }

    /// Emits the end of the preparation, unless it has ended.
    fn end_preparation(&self, state: &mut State, succeeded: bool) {
        if let Some(begun) = state.preparing.take() {
            let ended = ended(succeeded);
            self.emit_stage(PREPARE, ended, false, Some(begun.elapsed()));
        }
    }

    fn emit_stage(
        &self,
        name: &str,
        state: StageState,
        user_code: bool,
        duration: Option<Duration>,
    ) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.events.emit(EventKind::JobStage {
            job: Arc::clone(&self.job),
            name: name.into(),
            state,
            user_code,
            duration_ms: duration.map(millis),
        });
    }

    /// Begins the lines of one read from a stream.
    fn line_burst<'l>(
        &'l self,
        stream: TraceStream,
        last_lines: &'l mut LastLines,
        coverage: &'l mut Option<CoverageFinder>,
    ) -> LineBurst<'l> {
        let first = EventKind::JobLog {
            job: Arc::clone(&self.job),
            stream: log_stream(stream),
            line: String::new(),
            cont: false,
            open: false,
            level: log_level(stream),
        };
        LineBurst {
            stream,
            events: self.events.burst(first),
            last_lines,
            coverage: coverage.as_mut(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Lines of one stream that become events.
struct LineBurst<'l> {
    stream: TraceStream,
    events: Burst<'l>,
    last_lines: &'l mut LastLines,
    coverage: Option<&'l mut CoverageFinder>,
}

impl LineBurst<'_> {
    fn take(&mut self, line: &Line<'_>) {
        if matches!(self.stream, TraceStream::STDOUT | TraceStream::STDERR) {
            remember(self.last_lines, self.stream, line);
        }
        if let Some(coverage) = &mut self.coverage {
            coverage.take(self.stream, line);
        }
        // The text of the line has been emitted; its end adds nothing.
        if line.continues && line.text.is_empty() {
            return;
        }
        self.events.emit(|kind| {
            if let EventKind::JobLog {
                line: text,
                cont,
                open,
                ..
            } = kind
            {
                text.clear();
                text.push_str(&line.text);
                *cont = line.continues;
                *open = !line.complete;
            }
        });
    }
}

impl JobObserver for LogObserver {
    // The job has been running since a worker took it, so only its preparation begins.
    fn started(&self) {
        self.lock().preparing = Some(Instant::now());
        self.emit_stage(PREPARE, StageState::Started, false, None);
    }

    fn stage_started(&self, stage: &BuildStage) {
        self.leave_preparation();
        let user_code = stage.is_user_code();
        self.emit_stage(&stage.name(), StageState::Started, user_code, None);
    }

    fn stage_finished(&self, report: &StageReport) {
        // Otherwise the last line of a stage would follow the first of the next.
        self.end_lines(&mut self.lock());
        let stage = &report.stage;
        let end = ended(report.succeeded);
        let duration = Some(report.duration);
        self.emit_stage(&stage.name(), end, stage.is_user_code(), duration);
    }

    fn output(&self, stream: TraceStream, data: &[u8]) {
        let mut state = self.lock();
        let State {
            splitters,
            last_lines,
            coverage,
            ..
        } = &mut *state;
        let splitter = splitters.entry(stream).or_default();
        let mut lines = self.line_burst(stream, last_lines, coverage);
        splitter.feed(data, &mut |line| lines.take(&line));
    }

    fn idle(&self, stream: TraceStream) {
        let mut state = self.lock();
        let State {
            splitters,
            last_lines,
            coverage,
            ..
        } = &mut *state;
        if let Some(splitter) = splitters.get_mut(&stream) {
            let mut lines = self.line_burst(stream, last_lines, coverage);
            splitter.flush_idle(&mut |line| lines.take(&line));
        }
    }
}

fn ended(succeeded: bool) -> StageState {
    if succeeded {
        StageState::Succeeded
    } else {
        StageState::Failed
    }
}

fn log_level(stream: TraceStream) -> Option<LogLevel> {
    match stream {
        TraceStream::SYSTEM => Some(LogLevel::Info),
        TraceStream::SYSTEM_WARNING => Some(LogLevel::Warning),
        _ => None,
    }
}

fn log_stream(stream: TraceStream) -> LogStream {
    match stream {
        TraceStream::STDOUT => LogStream::Stdout,
        TraceStream::STDERR => LogStream::Stderr,
        _ => LogStream::System,
    }
}

/// Keeps the beginning of each of the last lines.
///
/// A line that continues is added to the last line of its own stream, also when lines of other streams
/// came between.
fn remember(last_lines: &mut LastLines, stream: TraceStream, line: &Line<'_>) {
    if line.continues {
        let mut newest_first = last_lines.iter_mut().rev();
        if let Some((_, last)) = newest_first.find(|(from, _)| *from == stream) {
            let room = LONGEST_LAST_LINE.saturating_sub(last.len());
            last.push_str(&line.text[..line.text.floor_char_boundary(room)]);
            return;
        }
        if line.text.is_empty() {
            return;
        }
    }
    let mut kept = String::new();
    if last_lines.len() == LAST_LINES
        && let Some((_, oldest)) = last_lines.pop_front()
    {
        // Its memory is reused: in a flood each line is one of the last for a moment.
        kept = oldest;
        kept.clear();
    }
    kept.push_str(&line.text[..line.text.floor_char_boundary(LONGEST_LAST_LINE)]);
    last_lines.push_back((stream, kept));
}
