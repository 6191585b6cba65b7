//! Showing a stored log.

use executor_core::{BuildStage, JobObserver, StageReport, StreamKind, TraceStream};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

/// The length of the prefix of each line, such as `2026-11-21T10:00:00.123456Z 01O `.
const PREFIX_LENGTH: usize = 32;

/// A longer line is shown in parts.
const MAX_LINE: u64 = 64 << 10;

/// Passes the lines of a stored log to an observer as if the job ran.
pub(super) fn replay(log: impl Read, observer: &dyn JobObserver) -> io::Result<()> {
    let mut log = BufReader::new(log);
    let mut line = Vec::new();
    // The stream whose last line the next one may continue.
    let mut open: Option<TraceStream> = None;
    let mut stream = TraceStream::SYSTEM;
    let mut is_part = false;
    let mut stage = ShownStage::default();
    loop {
        line.clear();
        let count = (&mut log).take(MAX_LINE).read_until(b'\n', &mut line)?;
        if count == 0 {
            break;
        }
        let mut text = &line[..];
        if !is_part && let Some((of, continues, rest)) = split(text) {
            (stream, text) = (of, rest);
            if let Some(before) = open.take()
                && !(continues && before == stream)
            {
                observer.output(before, b"\n");
            }
            stage.enter(stream, observer);
        }
        let ended = text.strip_suffix(b"\n");
        is_part = ended.is_none();
        stage.read(stream, text);
        observer.output(stream, ended.unwrap_or(text));
        open = ended.map(|_| stream);
    }
    if let Some(before) = open {
        observer.output(before, b"\n");
    }
    stage.end(observer);
    Ok(())
}

/// The stage whose log is shown: output of the job itself belongs to its scripts. Viewers fold the other stages.
#[derive(Debug, Default)]
struct ShownStage {
    current: Option<BuildStage>,
    /// Whether the log has reached `after_script`.
    is_after: bool,
}

impl ShownStage {
    fn enter(&mut self, stream: TraceStream, observer: &dyn JobObserver) {
        let is_from_job = stream.source == TraceStream::STDOUT.source;
        if !is_from_job {
            self.end(observer);
        } else if self.current.is_none() {
            let stage = if self.is_after {
                BuildStage::AfterScript
            } else {
                BuildStage::script()
            };
            observer.stage_started(&stage);
            self.current = Some(stage);
        }
    }

    fn read(&mut self, stream: TraceStream, text: &[u8]) {
        let is_runner = stream.source == TraceStream::SYSTEM.source;
        self.is_after |= is_runner && text.starts_with(b"Running after_script");
    }

    fn end(&mut self, observer: &dyn JobObserver) {
        if let Some(stage) = self.current.take() {
            observer.stage_finished(&StageReport {
                stage,
                succeeded: true,
                duration: Duration::ZERO,
                result: None,
            });
        }
    }
}

/// Splits a line into its stream, whether it continues the line before, and its text.
fn split(line: &[u8]) -> Option<(TraceStream, bool, &[u8])> {
    let (stamp, text) = line.split_at_checked(PREFIX_LENGTH)?;
    let [source, kind, flag] = [stamp.get(28..30)?, stamp.get(30..31)?, stamp.get(31..32)?];
    let source = u8::from_str_radix(std::str::from_utf8(source).ok()?, 16).ok()?;
    let kind = match kind {
        b"O" => StreamKind::Stdout,
        b"E" => StreamKind::Stderr,
        _ => return None,
    };
    let continues = match flag {
        b" " => false,
        b"+" => true,
        _ => return None,
    };
    Some((TraceStream { source, kind }, continues, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::fmt::Write as _;

    #[derive(Debug, Default)]
    struct Recorder(Mutex<String>);

    impl JobObserver for Recorder {
        fn started(&self) {}
        fn stage_started(&self, stage: &BuildStage) {
            let _ = write!(self.0.lock(), "<{}>", stage.name());
        }
        fn stage_finished(&self, _: &StageReport) {
            *self.0.lock() += "</>";
        }
        fn output(&self, stream: TraceStream, data: &[u8]) {
            let mark = if stream.kind == StreamKind::Stderr {
                "!"
            } else {
                ""
            };
            let text = String::from_utf8_lossy(data);
            let _ = write!(self.0.lock(), "{mark}{text}");
        }
        fn idle(&self, _: TraceStream) {}
    }

    #[test]
    fn lines_are_joined_and_lose_their_prefix() {
        let check = |log: &str, expect: &str| {
            let recorder = Recorder::default();
            replay(log.as_bytes(), &recorder).expect("read");
            assert_eq!(*recorder.0.lock(), expect);
        };
        let at = "2026-11-21T10:00:00.123456Z";
        check("", "");
        check(
            &format!("{at} 00O a\n{at} 01O b\n"),
            "a\n<step_script>b\n</>",
        );
        check(&format!("{at} 01O a\n{at} 01O+b\n"), "<step_script>ab\n</>");
        check(
            &format!("{at} 01O a\n{at} 01E b\n"),
            "<step_script>a\n!b!\n</>",
        );
        check(&format!("{at} 00O \n"), "\n");
        check(
            &format!("{at} 01O a\n{at} 00O Running after_script\n{at} 01O b\n{at} 00O end\n"),
            "<step_script>a\n</>Running after_script\n<after_script>b\n</>end\n",
        );
        check("no stamp\n", "no stamp\n");
        let long = "x".repeat(200 << 10);
        check(&format!("{at} 00O {long}\n"), &format!("{long}\n"));
    }
}
