//! The output of services in the job's log.

use crate::engine::Engine;
use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use executor_core::trace::{JobTrace, JobTraceExt, StreamKind, TraceStream};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::time::Duration;

/// How many bytes at the end of a failed service's log are shown.
const TAIL: usize = 64 * 1024;

/// How many lines are requested; more rarely fit into [`TAIL`].
const TAIL_LINES: &str = "5000";

/// The time limit for the tail.
const DEADLINE: Duration = Duration::from_secs(10);

/// Longer lines are split.
const LONGEST_LINE: usize = 8 * 1024;

/// Writes a heading and the end of the service's output so far to the log, together: a script may be running.
pub(crate) async fn show_tail(
    engine: &Engine,
    container: &str,
    trace: &dyn JobTrace,
    heading: &str,
    index: u8,
) {
    let options = LogsOptions {
        stdout: true,
        stderr: true,
        tail: TAIL_LINES.to_owned(),
        ..LogsOptions::default()
    };
    let mut tail = Tail::default();
    let read = async {
        let mut pieces = std::pin::pin!(engine.api().logs(container, Some(options)));
        while let Some(Ok(piece)) = pieces.next().await {
            let (kind, bytes) = parts(piece);
            tail.push(kind, bytes);
        }
    };
    // The received part is shown.
    let _ = tokio::time::timeout(DEADLINE, read).await;
    trace.system_line(heading);
    let mut last = None;
    for (kind, piece) in tail.pieces {
        let stream = TraceStream::service(index, kind);
        trace.write(stream, &piece);
        last = Some((stream, piece));
    }
    if let Some((stream, piece)) = last
        && piece.last() != Some(&b'\n')
    {
        trace.write(stream, b"\n");
    }
}

/// The position from which a log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Beginning,
    /// Earlier output was already shown.
    Now,
}

/// What marks the output of a service in the job's log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceLabel<'a> {
    pub(crate) index: u8,
    pub(crate) name: &'a str,
}

/// Writes the service's output into the log until the container ends, with the service's name before each line.
pub(crate) async fn follow(
    engine: &Engine,
    container: &str,
    start: Start,
    trace: &dyn JobTrace,
    label: ServiceLabel<'_>,
) {
    let tail = match start {
        Start::Beginning => "all",
        Start::Now => "0",
    };
    let options = LogsOptions {
        follow: true,
        stdout: true,
        stderr: true,
        tail: tail.to_owned(),
        ..LogsOptions::default()
    };
    let mut lines =
        [StreamKind::Stdout, StreamKind::Stderr].map(|kind| (kind, Lines::new(label.name)));
    let mut pieces = std::pin::pin!(engine.api().logs(container, Some(options)));
    while let Some(Ok(piece)) = pieces.next().await {
        let (kind, bytes) = parts(piece);
        for (of, lines) in &mut lines {
            if *of == kind {
                lines.push(&bytes, |line| {
                    trace.write(TraceStream::service(label.index, kind), line);
                });
            }
        }
    }
    for (kind, lines) in &mut lines {
        lines.end(|line| trace.write(TraceStream::service(label.index, *kind), line));
    }
}

/// Waits until the service has written `text`; never returns when it ends without.
pub(crate) async fn wait_for(engine: &Engine, container: &str, text: &str) {
    let options = LogsOptions {
        follow: true,
        stdout: true,
        stderr: true,
        tail: "all".to_owned(),
        ..LogsOptions::default()
    };
    let mut searches =
        [StreamKind::Stdout, StreamKind::Stderr].map(|kind| (kind, Search::new(text)));
    let mut pieces = std::pin::pin!(engine.api().logs(container, Some(options)));
    while let Some(Ok(piece)) = pieces.next().await {
        let (kind, bytes) = parts(piece);
        let mut of_kind = searches.iter_mut().filter(|(of, _)| *of == kind);
        if of_kind.any(|(_, search)| search.push(&bytes)) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

fn parts(piece: LogOutput) -> (StreamKind, Vec<u8>) {
    let kind = match &piece {
        LogOutput::StdErr { .. } => StreamKind::Stderr,
        _ => StreamKind::Stdout,
    };
    (kind, piece.into_bytes().to_vec())
}

/// The last bytes of an output.
#[derive(Debug, Default)]
struct Tail {
    pieces: VecDeque<(StreamKind, Vec<u8>)>,
    length: usize,
}

impl Tail {
    fn push(&mut self, kind: StreamKind, bytes: Vec<u8>) {
        self.length += bytes.len();
        self.pieces.push_back((kind, bytes));
        while self.length > TAIL {
            let Some((kind, first)) = self.pieces.pop_front() else {
                return;
            };
            let too_much = self.length - TAIL;
            self.length -= first.len();
            if first.len() > too_much {
                let rest = first[too_much..].to_vec();
                self.length += rest.len();
                self.pieces.push_front((kind, rest));
            }
        }
    }
}

/// Prefixes each line with a name.
#[derive(Debug)]
struct Lines {
    prefix: String,
    line: Vec<u8>,
}

impl Lines {
    fn new(name: &str) -> Self {
        Self {
            prefix: format!("[service:{name}] "),
            line: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8], mut write: impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            for part in piece.chunks(LONGEST_LINE) {
                self.line.extend_from_slice(part);
                if part.ends_with(b"\n") || self.line.len() >= LONGEST_LINE {
                    self.end(&mut write);
                }
            }
        }
    }

    fn end(&mut self, mut write: impl FnMut(&[u8])) {
        if self.line.is_empty() {
            return;
        }
        if !self.line.ends_with(b"\n") {
            self.line.push(b'\n');
        }
        write(&[self.prefix.as_bytes(), &self.line].concat());
        self.line.clear();
    }
}

/// Finds a text in a stream of pieces.
#[derive(Debug)]
struct Search {
    text: Vec<u8>,
    /// The end of the stream, shorter than the text.
    carried: Vec<u8>,
}

impl Search {
    fn new(text: &str) -> Self {
        Self {
            text: text.as_bytes().to_vec(),
            carried: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> bool {
        self.carried.extend_from_slice(bytes);
        let mut windows = self.carried.windows(self.text.len().max(1));
        if self.text.is_empty() || windows.any(|window| window == self.text) {
            return true;
        }
        let keep = self.carried.len().min(self.text.len() - 1);
        self.carried.drain(..self.carried.len() - keep);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_64_kib() {
        let mut tail = Tail::default();
        for byte in b'a'..=b'j' {
            tail.push(StreamKind::Stdout, vec![byte; 10_000]);
        }
        let all: Vec<u8> = tail
            .pieces
            .iter()
            .flat_map(|(_, piece)| piece.clone())
            .collect();
        assert_eq!(all.len(), TAIL);
        assert_eq!(all.last(), Some(&b'j'));
        tail.push(StreamKind::Stderr, vec![b'x'; TAIL * 2]);
        assert_eq!(tail.pieces.len(), 1);
        assert_eq!(tail.length, TAIL);
    }

    #[test]
    fn each_line_has_the_name_however_it_is_split() {
        let check = |pieces: &[&str], expect: &str| {
            let (mut lines, mut out) = (Lines::new("db"), Vec::new());
            for piece in pieces {
                lines.push(piece.as_bytes(), |line| out.extend_from_slice(line));
            }
            lines.end(|line| out.extend_from_slice(line));
            assert_eq!(String::from_utf8_lossy(&out), expect);
        };
        check(&[], "");
        check(&["a\nb\n"], "[service:db] a\n[service:db] b\n");
        check(&["a", "b", "\n", "c"], "[service:db] ab\n[service:db] c\n");
        let long = "x".repeat(LONGEST_LINE + 1);
        let pieces = format!("[service:db] {}\n[service:db] x\n", &long[1..]);
        check(&[&long], &pieces);
    }

    #[test]
    fn a_text_is_found_across_pieces() {
        let check = |text: &str, pieces: &[&str], expect: bool| {
            let mut search = Search::new(text);
            let found = pieces.iter().any(|piece| search.push(piece.as_bytes()));
            assert_eq!(found, expect, "{text} in {pieces:?}");
            assert!(search.carried.len() < 100);
        };
        check("ready", &["is re", "a", "dy now"], true);
        check("ready", &["read", "!y"], false);
        check("r", &["", "r"], true);
        check("ready", &["rea", "ready"], true);
    }
}
