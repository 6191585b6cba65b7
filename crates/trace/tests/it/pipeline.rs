//! The complete path of a log.

use parking_lot::{Mutex, MutexGuard};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use executor_core::TraceStream;
use trace::{
    Keep, LogFormat, MaskRules, OutputLimit, SectionLook, Spool, SpoolError, TraceBuilder,
    TracePipeline, TraceSink,
};

/// Stores the shown text of each stream.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Pieces>>);

type Pieces = Vec<(TraceStream, Vec<u8>)>;

impl Recorder {
    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock()
    }

    fn all(&self) -> String {
        let shown = self.pieces();
        let bytes: Vec<u8> = shown.iter().flat_map(|(_, text)| text.clone()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn of(&self, wanted: TraceStream) -> Vec<u8> {
        let shown = self.pieces();
        let own = shown.iter().filter(|(stream, _)| *stream == wanted);
        own.flat_map(|(_, text)| text.clone()).collect()
    }
}

impl TraceSink for Recorder {
    fn write(&mut self, stream: TraceStream, text: &[u8]) {
        self.pieces().push((stream, text.to_vec()));
    }

    fn spool_failed(&mut self, error: &SpoolError) {
        self.write(
            TraceStream::SYSTEM,
            format!("warning: {error}\n").as_bytes(),
        );
    }
}

struct Log {
    trace: TracePipeline,
    recorder: Recorder,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Log {
    fn new(set_up: impl FnOnce(TraceBuilder) -> TraceBuilder) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("job.log");
        let recorder = Recorder::default();
        let builder = TracePipeline::builder()
            .clock(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000))
            .masks(MaskRules::new().secret("correct horse"))
            .spool(Spool::create(&path).expect("a fresh folder"))
            .sink(recorder.clone());
        Self {
            trace: set_up(builder).start(),
            recorder,
            path,
            _folder: folder,
        }
    }

    fn plain() -> Self {
        Self::new(|builder| builder.format(LogFormat::Plain))
    }

    fn kept(&self) -> Vec<u8> {
        std::fs::read(&self.path).expect("the log is there")
    }
}

#[test]
fn each_stream_is_masked_at_every_split() {
    // R-STEP-40
    let text = b"a correct horse b\n";
    for split in 0..=text.len() {
        let log = Log::plain();
        for stream in [TraceStream::STDOUT, TraceStream::STDERR] {
            log.trace.write(stream, &text[..split]);
        }
        for stream in [TraceStream::STDERR, TraceStream::STDOUT] {
            log.trace.write(stream, &text[split..]);
        }
        log.trace.finish();
        assert_eq!(log.recorder.of(TraceStream::STDOUT), b"a [MASKED] b\n");
        assert_eq!(log.recorder.of(TraceStream::STDERR), b"a [MASKED] b\n");
    }
}

#[test]
fn only_the_kept_log_is_stamped() {
    let log = Log::new(|builder| builder);
    log.trace.write(TraceStream::STDOUT, b"say correct horse\n");
    let summary = log.trace.finish();
    let line = b"2023-11-14T22:13:20.000000Z 01O say [MASKED]\n";
    assert_eq!(log.kept(), line);
    assert_eq!(log.recorder.all(), "say [MASKED]\n");
    assert_eq!(summary.bytes, line.len() as u64);
    assert_eq!(summary.crc32, crc32fast::hash(line));
    assert_eq!(summary.view.crc32, summary.crc32);
}

#[test]
fn prompt_appears_unless_it_can_begin_a_secret() {
    let log = Log::new(|builder| builder);
    log.trace.write(TraceStream::STDOUT, b"Password: ");
    assert_eq!(log.recorder.all(), "Password: ");
    log.trace.flush_idle();
    assert!(log.kept().ends_with(b"01O Password: \n"));
    log.trace.write(TraceStream::STDOUT, b"correct hor");
    log.trace.flush_idle();
    assert_eq!(log.recorder.all(), "Password: ");
    log.trace.write(TraceStream::STDOUT, b"se");
    log.trace.flush_idle();
    assert_eq!(log.recorder.all(), "Password: [MASKED]");
    assert!(log.kept().ends_with(b"01O+[MASKED]\n"));
}

#[test]
fn added_mask_works_in_all_streams() {
    let log = Log::plain();
    log.trace
        .write(TraceStream::STDERR, b"before: s3cr3t-value\n");
    log.trace.add_mask("s3cr3t-value");
    log.trace
        .write(TraceStream::STDERR, b"after: s3cr3t-value\n");
    log.trace
        .write(TraceStream::STDOUT, b"after: s3cr3t-value\n");
    log.trace.finish();
    let text = String::from_utf8(log.kept()).unwrap();
    assert_eq!(
        text,
        "before: s3cr3t-value\nafter: [MASKED]\nafter: [MASKED]\n"
    );
}

#[test]
fn many_masks_are_added_together() {
    let log = Log::plain();
    let secrets = (0..20_000).map(|number| format!("s3cr3t-{number:06}"));
    log.trace.add_masks(secrets);
    log.trace.write(
        TraceStream::STDOUT,
        b"s3cr3t-000000 s3cr3t-019999 s3cr3t-020000\n",
    );
    log.trace.add_masks(["", "s3cr3t-000001"]);
    log.trace.finish();
    let text = String::from_utf8(log.kept()).unwrap();
    assert_eq!(text, "[MASKED] [MASKED] s3cr3t-020000\n");
}

#[test]
fn output_past_the_limit_is_kept_but_not_shown() {
    let small = |builder: TraceBuilder| {
        let builder = builder.format(LogFormat::Plain);
        builder.limit(OutputLimit::Bytes(7))
    };
    let log = Log::new(small);
    for _ in 0..3 {
        log.trace.write(TraceStream::STDOUT, "aé€\n".as_bytes());
    }
    let summary = log.trace.finish();
    let notice = "The log passed its limit of 7 bytes";
    let shown = log.recorder.all();
    assert!(shown.starts_with("aé€\n\u{1b}[33;1mThe log"), "{shown:?}");
    assert_eq!(shown.matches(notice).count(), 1);
    assert_eq!(log.kept(), "aé€\n".repeat(3).as_bytes());
    assert!(summary.truncated);
    assert_eq!(summary.bytes, 21);
    assert_eq!(summary.view.bytes, shown.len() as u64);
    assert_eq!(summary.view.crc32, crc32fast::hash(shown.as_bytes()));

    let log = Log::new(|builder| small(builder).keep(Keep::View));
    for _ in 0..3 {
        log.trace.write(TraceStream::STDOUT, "aé€\n".as_bytes());
    }
    let summary = log.trace.finish();
    assert_eq!(log.kept(), shown.as_bytes());
    assert_eq!(summary.bytes, summary.view.bytes);
}

#[test]
fn notice_of_a_stamped_log_is_a_runner_line() {
    let log = Log::new(|builder| builder.limit(OutputLimit::Bytes(40)).keep(Keep::View));
    log.trace
        .write(TraceStream::STDOUT, b"a line that is too long\n");
    log.trace.finish();
    let text = String::from_utf8(log.kept()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "2023-11-14T22:13:20.000000Z 01O a line t");
    assert!(lines[1].starts_with("2023-11-14T22:13:20.000000Z 00O \u{1b}[33;1mThe log"));
    assert_eq!(lines.len(), 2);
}

#[test]
fn long_line_nul_and_invalid_bytes_are_kept() {
    let log = Log::new(|builder| {
        let builder = builder.format(LogFormat::Plain);
        builder.limit(OutputLimit::Unlimited)
    });
    let mut line = vec![b'x'; 10 << 20];
    line.extend_from_slice(b"\0\xff\xfe\xc3\n");
    for piece in line.chunks(100_000) {
        log.trace.write(TraceStream::STDOUT, piece);
    }
    let summary = log.trace.finish();
    assert!(log.kept() == line && log.recorder.of(TraceStream::STDOUT) == line);
    assert_eq!(summary.crc32, crc32fast::hash(&line));
}

#[test]
fn fast_output_is_in_the_file_after_a_silence() {
    let log = Log::plain();
    let piece = "a line of the flood\n".repeat(5000);
    for round in 1..=20 {
        for _ in 0..10 {
            log.trace.write(TraceStream::STDOUT, piece.as_bytes());
        }
        log.trace.flush_idle();
        assert_eq!(log.kept().len(), round * 10 * piece.len());
    }
    log.trace.write(TraceStream::STDOUT, piece.as_bytes());
    let summary = log.trace.finish();
    assert!(log.kept() == piece.repeat(201).as_bytes());
    assert_eq!(summary.crc32, crc32fast::hash(&log.kept()));
}

#[test]
fn sections_end_in_order() {
    let log = Log::plain();
    let _outer = log.trace.section("outer", SectionLook::Plain, "Outer");
    let breaking_stage = || {
        let _inner = log.trace.section("in ner", SectionLook::Collapsed, "Inner");
        panic!("the stage breaks");
    };
    let inner = std::thread::scope(|scope| scope.spawn(breaking_stage).join());
    assert!(inner.is_err());
    let _left_open = log.trace.section("left", SectionLook::Plain, "Left");
    log.trace.finish();
    let expect = "section_start:1700000000:outer\r\x1b[0KOuter\n\
                  section_start:1700000000:in_ner[collapsed=true]\r\x1b[0KInner\n\
                  section_end:1700000000:in_ner\r\x1b[0K\
                  section_start:1700000000:left\r\x1b[0KLeft\n\
                  section_end:1700000000:left\r\x1b[0K\
                  section_end:1700000000:outer\r\x1b[0K";
    assert_eq!(String::from_utf8(log.kept()).unwrap(), expect);
}

#[test]
fn secret_in_a_section_header_is_masked() {
    let log = Log::plain();
    drop(
        log.trace
            .section("a", SectionLook::Plain, "run correct horse"),
    );
    log.trace.finish();
    assert!(log.recorder.all().contains("run [MASKED]\n"));
}

#[test]
fn missing_spool_is_reported_once() {
    let recorder = Recorder::default();
    let error = Spool::create("/nowhere/at/all/job.log").unwrap_err();
    let builder = TracePipeline::builder().sink(recorder.clone());
    let trace = builder.without_spool(error).start();
    trace.write(TraceStream::STDOUT, b"text\n");
    let summary = trace.finish();
    let expect = "warning: create log spool /nowhere/at/all/job.log\ntext\n";
    assert_eq!(recorder.all(), expect);
    assert!(matches!(
        *summary.spool_error.unwrap(),
        SpoolError::Create { .. }
    ));
}

#[test]
fn finished_log_drops_output() {
    let log = Log::plain();
    log.trace.write(TraceStream::STDOUT, b"one correct");
    let first = log.trace.finish();
    log.trace.write(TraceStream::STDOUT, b" two");
    log.trace.write(TraceStream::STDERR, b" three");
    let second = log.trace.finish();
    assert_eq!(log.kept(), b"one correct");
    assert_eq!((first.bytes, first.crc32), (second.bytes, second.crc32));
}

#[test]
fn concurrent_writes_keep_the_order_of_each_stream() {
    let log = Log::plain();
    let lines = |name: &str| -> Vec<u8> {
        let lines = (0..2000).map(|number| format!("{name} {number} correct horse\n"));
        lines.collect::<String>().into_bytes()
    };
    std::thread::scope(|scope| {
        for (stream, name) in [(TraceStream::STDOUT, "out"), (TraceStream::STDERR, "err")] {
            let (trace, text) = (&log.trace, lines(name));
            scope.spawn(move || text.chunks(13).for_each(|piece| trace.write(stream, piece)));
        }
    });
    log.trace.finish();
    for (stream, name) in [(TraceStream::STDOUT, "out"), (TraceStream::STDERR, "err")] {
        let text = String::from_utf8(log.recorder.of(stream)).unwrap();
        let expect = String::from_utf8(lines(name)).unwrap();
        assert_eq!(text, expect.replace("correct horse", "[MASKED]"));
    }
}

#[test]
fn masked_text_is_masked_like_the_log() {
    let trace = TracePipeline::builder()
        .masks(MaskRules::new().secret("hunter22"))
        .start();
    trace.add_mask("s3cr3t-value");
    let shown = trace.masked("expected hunter22, found s3cr3t-value and glpat-abcdef");
    assert_eq!(
        shown,
        "expected [MASKED], found [MASKED] and glpat-[MASKED]"
    );
    // A separate text: no secret continues in the next one.
    assert_eq!(trace.masked("hunter"), "hunter");
    assert_eq!(trace.masked("22"), "22");
}

#[test]
fn end_has_length_and_open_streams() {
    let log = Log::new(|builder| builder.format(LogFormat::Stamped));
    let check = |open: &[TraceStream]| {
        let end = log.trace.end();
        assert_eq!(end.bytes, log.kept().len() as u64);
        assert_eq!(end.open, open);
    };
    check(&[]);
    log.trace.write(TraceStream::STDOUT, b"a line\n");
    check(&[]);
    log.trace.write(TraceStream::STDOUT, b"Password: ");
    check(&[]);
    log.trace.flush_idle();
    check(&[TraceStream::STDOUT]);
    log.trace.write(TraceStream::STDERR, b"error\n");
    check(&[TraceStream::STDOUT]);
    log.trace.write(TraceStream::STDOUT, b"typed\n");
    check(&[]);
    log.trace.write(TraceStream::STDERR, b"no newline");
    log.trace.finish();
    check(&[TraceStream::STDERR]);
}

#[test]
fn end_waits_for_the_writer_thread() {
    let log = Log::new(|builder| builder.format(LogFormat::Stamped));
    let line = [&[b'x'; 99][..], b"\n"].concat();
    for _ in 0..50 {
        log.trace.write(TraceStream::STDOUT, &line.repeat(640));
        assert_eq!(log.trace.end().bytes, log.kept().len() as u64);
    }
}
