//! A log that another process continues.

use executor_core::TraceStream;
use std::path::Path;
use trace::{MaskRules, Spool, SpoolError, TraceBuilder, TracePipeline};

fn begin(spool: Spool) -> TraceBuilder {
    let masks = MaskRules::new().secret("hunter2\nhunter3");
    TracePipeline::builder().masks(masks).spool(spool)
}

fn texts(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).expect("a log");
    text.lines().map(|line| line[31..].to_owned()).collect()
}

#[test]
fn log_is_resumed_where_nothing_is_pending() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let trace = begin(Spool::create(&first).unwrap()).start();
    let write = |text: &str| trace.write(TraceStream::STDOUT, text.as_bytes());
    write("one\n");
    let end = trace.settled().unwrap();
    assert_eq!(end.bytes, std::fs::metadata(&first).unwrap().len());
    write("half a line");
    assert_eq!(trace.settled(), None);
    trace.flush_idle();
    let open = trace.settled().unwrap();
    assert_eq!(open.open, [TraceStream::STDOUT]);
    // Text that may become a secret is not written yet.
    write("\nhunter2\n");
    trace.flush_idle();
    assert_eq!(trace.settled(), None);
    write("no, it is none\n");
    let late = trace.settled().unwrap();
    assert_eq!(late.open, []);

    let spool = Spool::resume(&second, &first, open.bytes).unwrap();
    let again = begin(spool).open_lines(open.open.clone()).start();
    assert_eq!(again.settled(), Some(open));
    again.write(TraceStream::STDOUT, b" and the rest\n");
    again.write(TraceStream::SYSTEM, b"done\n");
    let summary = again.finish();
    assert_eq!(summary.bytes, std::fs::metadata(&second).unwrap().len());
    assert_eq!(
        texts(&second),
        [" one", " half a line", "+ and the rest", " done"]
    );
}

#[test]
fn too_short_log_is_not_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    std::fs::write(&first, "text").unwrap();
    let error = Spool::resume(&second, &first, 5).unwrap_err();
    assert!(matches!(error, SpoolError::Read { .. }), "{error:?}");
    assert!(!second.exists());
    let log = begin(Spool::create(&second).unwrap());
    drop(log.start());
    assert_eq!(TracePipeline::builder().start().settled(), None);
}
