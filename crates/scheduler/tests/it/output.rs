//! The output of jobs in events and reports.

use crate::driver::run;
use crate::fake::{Act, Recorder};
use executor_core::TraceStream;
use scheduler::event::{EventKind, LogLevel};

#[tokio::test(start_paused = true)]
async fn output_is_split_into_lines_by_stream() {
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
async fn answer_continues_the_line_of_its_question() {
    let acts = [Act::Pause("Password: ", "given\nnext\n")];
    let (report, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    assert_eq!(
        log_lines(&sink),
        ["Stdout Password: ", "Stdout +given", "Stdout next"]
    );
    assert_eq!(report.jobs[0].last_lines, ["Password: given", "next"]);
}

#[tokio::test(start_paused = true)]
async fn answer_continues_its_question_after_another_stream() {
    let acts = [Act::Interrupted("Password: ", "a warning\n", "given\n")];
    let (report, ..) = run("test: {script: x}\n", &[("test", &acts)]).await;
    assert_eq!(report.jobs[0].last_lines, ["Password: given", "a warning"]);
}

#[tokio::test(start_paused = true)]
async fn unfinished_line_of_a_stage_precedes_the_next_stage() {
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
async fn runner_lines_have_a_level() {
    let pieces = vec![
        (TraceStream::SYSTEM, b"Preparing\n".to_vec()),
        (TraceStream::SYSTEM_WARNING, b"WARNING: old\n".to_vec()),
        (TraceStream::STDERR, b"WARNING: of the job\n".to_vec()),
    ];
    let (_, _, sink) = run("test: {script: x}\n", &[("test", &[Act::Write(pieces)])]).await;
    let level = |kind| match kind {
        EventKind::JobLog { line, level, .. } => Some((line, level)),
        _ => None,
    };
    let levels: Vec<_> = sink.kinds().into_iter().filter_map(level).collect();
    let expect = [
        ("Preparing", Some(LogLevel::Info)),
        ("WARNING: old", Some(LogLevel::Warning)),
        ("WARNING: of the job", None),
    ];
    assert_eq!(levels, expect.map(|(line, level)| (line.to_owned(), level)));
}

#[tokio::test(start_paused = true)]
async fn unfinished_line_is_marked_open() {
    let acts = [Act::Pause("Password: ", "given\nnext\n")];
    let (_, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    let is_open = |kind| match kind {
        EventKind::JobLog { open, .. } => Some(open),
        _ => None,
    };
    let open: Vec<_> = sink.kinds().into_iter().filter_map(is_open).collect();
    assert_eq!(open, [true, false, false]);
}

#[tokio::test(start_paused = true)]
async fn stage_events_follow_the_preparation() {
    let acts = [Act::Stages(vec![(TraceStream::STDOUT, "words")])];
    let (_, _, sink) = run("test: {script: x}\n", &[("test", &acts)]).await;
    assert_eq!(
        stages(&sink),
        [
            "prepare_executor Started",
            "prepare_executor Succeeded",
            "step_script Started, user code",
            "step_script Succeeded, user code",
        ]
    );
    let (_, _, sink) = run("test: {script: x}\n", &[("test", &[Act::SystemFailure])]).await;
    assert_eq!(
        stages(&sink),
        ["prepare_executor Started", "prepare_executor Failed"]
    );
}

fn stages(sink: &Recorder) -> Vec<String> {
    let stage = |kind| match kind {
        EventKind::JobStage {
            name,
            state,
            user_code,
            ..
        } => {
            let mark = if user_code { ", user code" } else { "" };
            Some(format!("{name} {state:?}{mark}"))
        }
        _ => None,
    };
    sink.kinds().into_iter().filter_map(stage).collect()
}

#[tokio::test(start_paused = true)]
async fn first_event_has_the_graph() {
    let text = "a: {stage: build, script: x}\nb: {stage: test, script: x}\nc: {stage: test, needs: [a], script: x}\n";
    let (_, _, sink) = run(text, &[]).await;
    let EventKind::PipelineStarted { graph, .. } = &sink.kinds()[0] else {
        panic!("the first event begins the pipeline");
    };
    let nodes: Vec<_> = graph
        .iter()
        .map(|node| (&*node.job, &*node.stage, node.needs.clone()))
        .collect();
    let expect = [
        ("a", "build", None),
        ("b", "test", None),
        ("c", "test", Some(vec!["a".into()])),
    ];
    assert_eq!(nodes, expect);
}

#[tokio::test(start_paused = true)]
async fn long_line_is_split_into_64_kib_pieces() {
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
