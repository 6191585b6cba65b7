//! What jobs write, as the driver's events and reports show it.

use crate::driver::run;
use crate::fake::{Act, Recorder};
use executor_core::TraceStream;
use pipeline::event::EventKind;

#[tokio::test(start_paused = true)]
async fn output_becomes_lines_by_stream() {
    let pieces = vec![
        (TraceStream::SYSTEM, b"Preparing\n".to_vec()),
        (TraceStream::STDOUT, b"one\ntw".to_vec()),
        (TraceStream::STDERR, b"bad \xff\r\n".to_vec()),
        (TraceStream::STDOUT, b"o\nthree".to_vec()),
    ];
    let (report, _, sink) = run("test: {script: x}\n", &[("test", &[Act::Write(pieces)])]).await;
    let logs: Vec<String> = log_lines(&sink);
    assert_eq!(
        logs,
        [
            "System Preparing",
            "Stdout one",
            "Stderr bad \u{fffd}",
            "Stdout two",
            "Stdout three"
        ]
    );
    assert_eq!(
        report.jobs[0].last_lines,
        ["one", "bad \u{fffd}", "two", "three"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_without_a_line_end_appears_and_its_answer_goes_on() {
    let acts = [Act::Pause("Password: ", "given\nnext\n")];
    let (report, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    assert_eq!(
        log_lines(&sink),
        ["Stdout Password: ", "Stdout +given", "Stdout next"]
    );
    assert_eq!(report.jobs[0].last_lines, ["Password: given", "next"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_joins_its_question_past_another_stream() {
    let acts = [Act::Interrupted("Password: ", "a warning\n", "given\n")];
    let (report, ..) = run("test: {script: x}\n", &[("test", &acts)]).await;
    assert_eq!(report.jobs[0].last_lines, ["Password: given", "a warning"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_words_of_a_stage_come_before_the_next_stage_and_before_the_end() {
    let acts = [Act::Stages(vec![
        (TraceStream::STDERR, "no line end"),
        (TraceStream::STDOUT, "and"),
        (TraceStream::STDOUT, "another\nlast words"),
    ])];
    let (report, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    let lines = ["no line end", "and", "another", "last words"];
    assert_eq!(
        log_lines(&sink),
        [
            "Stderr no line end",
            "Stdout and",
            "Stdout another",
            "Stdout last words"
        ]
    );
    assert_eq!(report.jobs[0].last_lines, lines);
    let kinds = sink.kinds();
    let is_log = |kind: &EventKind| matches!(kind, EventKind::JobLog { .. });
    let is_end = |kind: &EventKind| matches!(kind, EventKind::JobFinished { .. });
    assert!(kinds.iter().rposition(is_log) < kinds.iter().position(is_end));
}

#[tokio::test(start_paused = true)]
async fn a_long_line_comes_in_pieces_of_64_kib() {
    let line = [vec![b'x'; 200_000], b"\n".to_vec()].concat();
    let acts = [Act::Write(vec![(TraceStream::STDOUT, line)])];
    let (report, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    let logs = log_lines(&sink);
    assert_eq!(logs.len(), 4);
    assert!(logs[1].starts_with("Stdout +"));
    assert!(
        logs.iter()
            .all(|line| line.len() <= 65_536 + "Stdout +".len())
    );
    assert!(report.jobs[0].last_lines[0].len() <= 1024);
}

fn log_lines(sink: &Recorder) -> Vec<String> {
    let line = |kind: EventKind| match kind {
        EventKind::JobLog {
            stream, line, cont, ..
        } => {
            let mark = if cont { "+" } else { "" };
            Some(format!("{stream:?} {mark}{line}"))
        }
        _ => None,
    };
    sink.kinds().into_iter().filter_map(line).collect()
}
