//! The timestamped format, line by line.

use std::time::{Duration, SystemTime};

use executor_core::{StreamKind, TraceStream};
use trace::Stamper;

fn check(stream: TraceStream, pieces: &[&str], expect: &[&str]) {
    let mut stamper = Stamper::new(stream);
    let mut out = Vec::new();
    let start = SystemTime::UNIX_EPOCH + Duration::new(1_795_194_123, 4_000);
    for (second, piece) in (0..).zip(pieces) {
        let now = start + Duration::from_secs(second);
        stamper.feed(now, piece.as_bytes(), &mut out);
    }
    stamper.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), expect.join("\n") + "\n");
}

#[test]
fn whole_and_split_lines() {
    // R-STEP-38
    check(
        TraceStream::STDOUT,
        &["one\ntwo\n", "thr", "ee\n\nlast"],
        &[
            "2026-11-20T17:02:03.000004Z 01O one",
            "2026-11-20T17:02:03.000004Z 01O two",
            "2026-11-20T17:02:04.000004Z 01O three",
            "2026-11-20T17:02:05.000004Z 01O ",
            "2026-11-20T17:02:05.000004Z 01O last",
        ],
    );
}

#[test]
fn progress_is_written_at_once() {
    check(
        TraceStream::STDERR,
        &["1%\r", "2%\r", "done\r\n", "next\r\n", "a\rb"],
        &[
            "2026-11-20T17:02:03.000004Z 01E 1%\r",
            "2026-11-20T17:02:04.000004Z 01E+2%\r",
            "2026-11-20T17:02:05.000004Z 01E+done\r",
            "2026-11-20T17:02:06.000004Z 01E next\r",
            "2026-11-20T17:02:07.000004Z 01E a\rb",
        ],
    );
}

#[test]
fn split_line_end_is_one_line_end() {
    check(
        TraceStream::SYSTEM,
        &["one\r", "\ntwo\r", "\n"],
        &[
            "2026-11-20T17:02:03.000004Z 00O one\r",
            "2026-11-20T17:02:04.000004Z 00O two\r",
        ],
    );
}

#[test]
fn section_marker_and_its_header_stay_together() {
    check(
        TraceStream::SYSTEM,
        &[
            "section_start:1:a\r\x1b[0KHeader\n",
            "section_end:2:a\r\x1b[0K",
        ],
        &[
            "2026-11-20T17:02:03.000004Z 00O section_start:1:a\r\x1b[0KHeader",
            "2026-11-20T17:02:04.000004Z 00O section_end:2:a\r\x1b[0K",
        ],
    );
}

#[test]
fn long_line_is_written_in_parts() {
    let part = "x".repeat(5000);
    let service = TraceStream::service(0, StreamKind::Stdout);
    check(
        service,
        &[&part, &part, "end\n"],
        &[
            &format!("2026-11-20T17:02:03.000004Z 0fO {part}{part}"),
            "2026-11-20T17:02:05.000004Z 0fO+end",
        ],
    );
}

#[test]
fn silence_writes_an_unfinished_line() {
    let mut stamper = Stamper::new(TraceStream::STDOUT);
    let mut out = Vec::new();
    stamper.feed(SystemTime::UNIX_EPOCH, b"Password: ", &mut out);
    assert!(out.is_empty());
    stamper.flush_idle(&mut out);
    stamper.flush_idle(&mut out);
    stamper.feed(SystemTime::UNIX_EPOCH, b"ok\n", &mut out);
    let expect = "1970-01-01T00:00:00.000000Z 01O Password: \n\
                  1970-01-01T00:00:00.000000Z 01O+ok\n";
    assert_eq!(String::from_utf8_lossy(&out), expect);
}
