//! What the console makes of events, through the library.

use console::{Console, Layout, Style, View};
use executor_core::{FailureReason, PipelineId};
use parking_lot::Mutex;
use scheduler::Status;
use scheduler::event::{EventKind, EventSink, JobNode, LogStream, PipelineEvent};
use std::io::{self, Write};
use std::sync::Arc;

/// Keeps what is written.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn shown(layout: Layout, style: Style, events: Vec<EventKind>) -> String {
    let paper = Paper::default();
    let view = View {
        layout,
        style,
        verbose: false,
    };
    let console = Console::start(view, paper.clone()).unwrap();
    for (seq, kind) in (1..).zip(events) {
        console.event(&PipelineEvent {
            v: 1,
            seq,
            at: "2026-11-20T10:00:00Z".parse().unwrap(),
            pipeline: PipelineId(1),
            kind,
        });
    }
    console.finish().unwrap();
    let bytes = std::mem::take(&mut *paper.0.lock());
    String::from_utf8(bytes).unwrap()
}

fn begin(jobs: &[&str]) -> EventKind {
    EventKind::PipelineStarted {
        jobs: jobs.iter().map(|&job| job.into()).collect(),
        graph: jobs.iter().map(|&job| node(job)).collect(),
        parent: None,
    }
}

fn node(job: &str) -> JobNode {
    JobNode {
        job: job.into(),
        stage: "test".into(),
        needs: None,
    }
}

fn status(job: &str, status: Status) -> EventKind {
    EventKind::JobStatus {
        job: job.into(),
        stage: "test".into(),
        status,
        attempt: 1,
        until: None,
    }
}

fn line(job: &str, line: &str) -> EventKind {
    EventKind::JobLog {
        job: job.into(),
        stream: LogStream::Stdout,
        line: line.to_owned(),
        cont: false,
        open: false,
        level: None,
    }
}

fn finished(job: &str, exit_code: i32) -> EventKind {
    let succeeded = exit_code == 0;
    EventKind::JobFinished {
        job: job.into(),
        stage: "test".into(),
        status: if succeeded {
            Status::Success
        } else {
            Status::Failed
        },
        exit_code: Some(exit_code),
        failure_reason: (!succeeded).then_some(FailureReason::ScriptFailure),
        allow_failure: false,
        attempt: 1,
        duration_ms: 1_250,
        tests: None,
        coverage: None,
        reused: None,
        changed: None,
        artifacts: Vec::new(),
    }
}

fn two_jobs() -> Vec<EventKind> {
    let (good, bad) = ("good", "bad-one");
    vec![
        begin(&[good, bad, "later"]),
        status(good, Status::Running),
        status(bad, Status::Running),
        line(good, "a"),
        line(bad, "\x1b[31mb"),
        line(good, "10%\r20%"),
        line(bad, "c\x1b[0m"),
        finished(good, 0),
        finished(bad, 3),
        status("later", Status::Manual),
    ]
}

#[test]
fn lines_come_behind_names_or_in_blocks() {
    insta::assert_snapshot!(shown(Layout::Prefix, Style::PLAIN, two_jobs()), @r#"
    good    | a
    bad-one | b
    good    | 20%
    bad-one | c
    good    | success, 1.2s
    bad-one | failed, exit code 3, 1.2s
    later   | manual: `runwright play later` starts it
    "#);
    insta::assert_snapshot!(shown(Layout::Group, Style::PLAIN, two_jobs()), @r#"
    ok   good       1.2s
      a
      20%

    FAIL bad-one    1.2s  exit code 3
      b
      c

    hand later            manual: `runwright play later` starts it
    "#);
}

#[test]
fn delayed_job_is_announced_with_its_delay() {
    let events = || {
        let delayed = EventKind::JobStatus {
            job: "later on".into(),
            stage: "test".into(),
            status: Status::Scheduled,
            attempt: 1,
            until: Some("2026-11-20T11:30:00Z".parse().unwrap()),
        };
        vec![begin(&["later on"]), delayed]
    };
    insta::assert_snapshot!(shown(Layout::Prefix, Style::PLAIN, events()), @"later on | delayed: it starts in 1h 30m; `runwright play 'later on'` starts it now");
    insta::assert_snapshot!(shown(Layout::Group, Style::PLAIN, events()), @"     later on          delayed: it starts in 1h 30m; `runwright play 'later on'` starts it now");
}

#[test]
fn plain_text_holds_no_escape_whatever_jobs_write() {
    let hostile = "\x1b[2J\x1b]0;t\x07\x1b[31mred\rsection_start:1:a\r\x1b[0K\u{9b}5A";
    for layout in [Layout::Prefix, Layout::Group] {
        let events = vec![
            begin(&["a"]),
            status("a", Status::Running),
            line("a", hostile),
            finished("a", 1),
        ];
        let text = shown(layout, Style::PLAIN, events);
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_control), "{text:?}");
    }
}

#[test]
fn a_log_larger_than_the_memory_for_it_comes_back_whole() {
    let mut events = vec![begin(&["a", "b"]), status("a", Status::Running)];
    let text = |number: u32| format!("{number} {}", "\u{e9}".repeat(50));
    events.extend((0..20_000).map(|number| line("a", &text(number))));
    events.push(finished("a", 1));
    let all = shown(Layout::Group, Style::PLAIN, events);
    let mut lines = all.lines().skip(1);
    for number in 0..20_000 {
        assert_eq!(lines.next(), Some(&*format!("  {}", text(number))));
    }
    assert_eq!((lines.next(), lines.next()), (Some(""), None));
}
