use super::*;
use crate::full_screen::layout::Layout;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use executor_core::FailureReason;
use scheduler::Status;
use scheduler::event::{
    EventKind, JobNode, LogLevel, LogStream, ParentJob, PipelineEvent, StageState,
};
use std::time::Instant;

/// A run for tests: what happens, and what keys do.
pub(in crate::full_screen) struct Run {
    pub(in crate::full_screen) state: ScreenState,
    pub(in crate::full_screen) begun: Instant,
    pub(in crate::full_screen) now: Instant,
}

/// Returns a run with two stages and a manual job, of which nothing has happened yet.
pub(in crate::full_screen) fn run() -> Run {
    let node = |job: &str, stage: &str, needs: Option<&[&str]>| JobNode {
        job: job.into(),
        stage: stage.into(),
        needs: needs.map(|needs| needs.iter().map(|&need| need.into()).collect()),
    };
    let graph = vec![
        node("compile", "build", None),
        node("lint\x1b[2J", "build", None),
        node("unit-tests", "test", Some(&["compile"])),
        node("docs", "test", Some(&[])),
        node("deploy", "deploy", None),
    ];
    let head = Head {
        reference: "main".to_owned(),
        source: "push".to_owned(),
    };
    let begun = Instant::now();
    let mut stage = Run {
        state: ScreenState::new(Style::PLAIN.with_unicode(), false, head),
        begun,
        now: begun,
    };
    stage.event(EventKind::PipelineStarted {
        jobs: graph.iter().map(|node| Arc::clone(&node.job)).collect(),
        graph,
        parent: None,
    });
    stage
}

impl Run {
    pub(in crate::full_screen) fn event(&mut self, kind: EventKind) {
        self.event_of(1, kind);
    }

    fn event_of(&mut self, pipeline: u64, kind: EventKind) {
        let event = PipelineEvent {
            v: 1,
            seq: 1,
            at: "2026-11-22T10:00:00Z".parse().expect("a time"),
            pipeline: PipelineId(pipeline),
            kind,
        };
        self.state.event(&event, self.now);
    }

    pub(in crate::full_screen) fn status(&mut self, job: &str, status: Status, attempt: u32) {
        self.event(EventKind::JobStatus {
            job: job.into(),
            stage: "x".into(),
            status,
            attempt,
            until: None,
        });
    }

    pub(in crate::full_screen) fn log(&mut self, job: &str, line: &str) {
        self.event(EventKind::JobLog {
            job: job.into(),
            stream: LogStream::Stdout,
            line: line.to_owned(),
            cont: false,
            open: false,
            level: None,
        });
    }

    pub(in crate::full_screen) fn ends(&mut self, job: &str, exit_code: i32, attempt: u32) {
        let status = if exit_code == 0 {
            Status::Success
        } else {
            Status::Failed
        };
        self.event(EventKind::JobFinished {
            job: job.into(),
            stage: "x".into(),
            status,
            exit_code: Some(exit_code),
            failure_reason: (exit_code != 0).then_some(FailureReason::ScriptFailure),
            allow_failure: false,
            attempt,
            duration_ms: 2_500,
            tests: None,
            coverage: None,
            reused: None,
            changed: None,
            artifacts: Vec::new(),
        });
        self.status(job, status, attempt);
    }

    /// Presses keys one after the other; returns what the last one asks of the world.
    pub(in crate::full_screen) fn press(&mut self, keys: &str) -> Option<Action> {
        let mut action = None;
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\x1b' => KeyCode::Esc,
                c => KeyCode::Char(c),
            };
            action = self.state.key(code.into());
        }
        action
    }

    pub(in crate::full_screen) fn control(&mut self, c: char) -> Option<Action> {
        let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        self.state.key(key)
    }

    fn chosen(&self) -> &str {
        &self.state.job().expect("a job").file_name
    }

    fn note(&self) -> &str {
        self.state.note.as_ref().map_or("", |note| &note.0)
    }

    /// Returns the lines of the log in view.
    fn lines(&mut self) -> Vec<String> {
        self.state.layout = Layout {
            log: ratatui::layout::Rect::new(0, 0, 40, 5),
            ..Layout::default()
        };
        let lines = self.state.log_lines().lines;
        lines.iter().map(|(_, line)| line.to_string()).collect()
    }
}

fn id(job: &str) -> JobId {
    JobId {
        pipeline: PipelineId(1),
        job: job.into(),
    }
}

#[test]
fn jobs_are_selected_filtered_and_found() {
    let mut run = run();
    let check = |run: &mut Run, keys: &str, expect: &str| {
        run.press(keys);
        assert_eq!(run.chosen(), expect, "after {keys:?}");
    };
    check(&mut run, "", "compile");
    check(&mut run, "j", "lint\x1b[2J");
    check(&mut run, "l", "docs");
    check(&mut run, "l", "deploy");
    check(&mut run, "l", "deploy");
    check(&mut run, "h", "unit-tests");
    check(&mut run, "G", "deploy");
    check(&mut run, "jj", "deploy");
    check(&mut run, "g", "compile");
    check(&mut run, "kk", "compile");
    check(&mut run, "]]", "unit-tests");
    check(&mut run, "/DO", "docs");
    check(&mut run, "c\n", "docs");
    check(&mut run, "G", "docs");
    check(&mut run, "\x1bG", "deploy");
    check(&mut run, "n", "deploy");
    assert_eq!(run.note(), "no job has failed");
    run.ends("compile", 1, 1);
    run.ends("docs", 1, 1);
    check(&mut run, "n", "compile");
    check(&mut run, "n", "docs");
    check(&mut run, "n", "compile");
    check(&mut run, "N", "docs");
}

#[test]
fn keys_return_actions() {
    let mut run = run();
    assert_eq!(run.press("r"), Some(Action::Retry(id("compile"))));
    assert_eq!(run.press("p"), Some(Action::Play(id("compile"), vec![])));
    assert_eq!(run.press("s"), Some(Action::Shell(id("compile"))));
    assert_eq!(run.press("c"), None);
    assert_eq!(run.press("y"), Some(Action::CancelJob(id("compile"))));
    assert_eq!(run.press("cn"), None);
    assert_eq!(run.press("Cy"), Some(Action::CancelAll));
    assert_eq!(run.press("m"), Some(Action::CaptureMouse(true)));
    assert_eq!(run.press("m"), Some(Action::CaptureMouse(false)));
    assert_eq!(run.control('z'), Some(Action::Suspend));
    assert_eq!(run.control('l'), Some(Action::Redraw));
    assert_eq!(run.press("PA=b C\n"), None);
    assert_eq!(run.note(), "\"C\" is not NAME=VALUE");
    let Some(Action::Play(_, variables)) = run.press("=d\n") else {
        panic!("nothing is played");
    };
    assert_eq!(variables.len(), 2);
    // A key that is typed is no command, and a job that has ended cannot be canceled.
    assert_eq!(run.press("/qq\x1b"), None);
    run.ends("compile", 0, 1);
    assert_eq!(run.press("c"), None);
    assert_eq!(run.note(), "the job is success");
}

#[test]
fn leaving_asks_while_jobs_run() {
    let mut run = run();
    run.status("compile", Status::Running, 1);
    assert_eq!(run.press("q"), None);
    assert_eq!(run.state.question, Some(Question::Leave));
    assert_eq!(run.press("\x1b"), None);
    assert_eq!(run.press("ql"), Some(Action::Leave));
    assert_eq!(run.press("qc"), Some(Action::CancelAll));
    assert!(run.state.leaves, "and then it leaves");
    assert_eq!(run.control('c'), None);
    assert_eq!(run.control('c'), Some(Action::Abort), "twice ends all");
    for job in ["compile", "lint\x1b[2J", "unit-tests", "docs"] {
        run.ends(job, 0, 1);
    }
    assert!(!run.state.run.is_settled());
    run.status("deploy", Status::Manual, 1);
    assert!(run.state.run.is_settled());
    assert_eq!(run.press("q"), Some(Action::Leave));
    assert_eq!(run.control('c'), Some(Action::Leave));
    // One that runs again is waited for again.
    run.status("deploy", Status::Running, 1);
    assert_eq!(run.press("q"), None);
}

#[test]
fn logs_are_scrolled_followed_and_searched() {
    let mut run = run();
    run.status("compile", Status::Running, 1);
    for number in 0..100 {
        run.log("compile", &format!("line {number}"));
    }
    let tail = ["line 95", "line 96", "line 97", "line 98", "line 99"];
    assert_eq!(run.lines(), tail);
    run.press("\tk");
    run.log("compile", "more");
    assert_eq!(run.lines(), tail, "it stays where the user reads");
    run.press("G");
    assert_eq!(run.lines()[4], "more");
    run.press("g");
    assert_eq!(run.lines()[0], "line 0");
    run.press(" j");
    assert_eq!(run.lines()[4], "line 5");
    run.press("/NE 4\x1b/ne 4\n");
    while run.state.work() {}
    run.lines();
    let hits = |run: &mut Run| {
        let hits = run.state.log_lines().hits.expect("a search");
        (run.lines()[4].clone(), hits.current, hits.total)
    };
    assert_eq!(hits(&mut run), ("line 40".to_owned(), Some(2), 11));
    run.press("N");
    assert_eq!(run.state.view().expect("a job").pager.cursor, 4);
    run.press("N");
    assert_eq!(run.note(), "from the end");
    assert_eq!(run.state.view().expect("a job").pager.cursor, 49);
    run.press("n");
    assert_eq!(run.note(), "from the top");
    run.press("/absent\n");
    run.state.work();
    assert_eq!(run.note(), "no \"absent\" in this log");
    run.press("\x1b\x1b");
    assert_eq!(run.state.focus, Focus::Jobs);
}

#[test]
fn runner_stages_fold_and_errors_in_them_are_found() {
    let mut run = run();
    let mut stage = |name: &str, state, user_code| {
        run.event(EventKind::JobStage {
            job: "compile".into(),
            name: name.into(),
            state,
            user_code,
            duration_ms: Some(3_000),
        });
        if state == StageState::Started {
            run.event(EventKind::JobLog {
                job: "compile".into(),
                stream: LogStream::System,
                line: "an Error that was overcome".to_owned(),
                cont: false,
                open: false,
                level: Some(LogLevel::Info),
            });
        }
    };
    stage("get_sources", StageState::Started, false);
    stage("get_sources", StageState::Succeeded, false);
    assert_eq!(run.lines(), ["▸ get sources  1 line, 3s"]);
    run.press("\to");
    assert_eq!(run.lines()[1], "an Error that was overcome");
    run.press("F");
    assert_eq!(run.lines().len(), 1);
    run.press("e");
    run.state.work();
    assert_eq!(run.lines().len(), 2, "a hit is revealed");
}

#[test]
fn child_pipelines_are_titled_by_their_parent_job() {
    let mut run = run();
    run.event_of(
        2,
        EventKind::PipelineStarted {
            jobs: vec!["build".into()],
            graph: vec![JobNode {
                job: "build".into(),
                stage: "one".into(),
                needs: None,
            }],
            parent: Some(ParentJob {
                pipeline: PipelineId(1),
                job: "deploy".into(),
                project: None,
            }),
        },
    );
    run.press("G");
    let Some(Action::Retry(id)) = run.press("r") else {
        panic!("nothing is retried");
    };
    assert_eq!((id.pipeline, &*id.job), (PipelineId(2), "build"));
    assert_eq!(
        run.state.run.stages().last().expect("a stage").title,
        "deploy > one"
    );
}

#[test]
fn any_order_of_events_and_keys_is_harmless() {
    let keys = "jkhlgGnN/x\n\x1b\tzdwemM?[]pPrsccCyq0F obe \x1b";
    let mut run = run();
    let mut seed = 7_u64;
    for step in 0..3_000_u64 {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(step);
        let at = usize::try_from(seed >> 40).unwrap_or(0);
        let key = keys.chars().nth(at % keys.chars().count()).unwrap_or('j');
        run.press(&key.to_string());
        match at % 7 {
            0 => run.log("compile", "x\x1b]0;t\x07 error"),
            1 => run.status("docs", Status::Running, 1),
            2 => run.ends("docs", i32::from(at % 2 == 0), 1),
            3 => run.log("never heard of", "x"),
            _ => {}
        }
        let size = (
            u16::try_from(at % 150).unwrap_or(1),
            u16::try_from(at % 47).unwrap_or(1),
        );
        let mut picture = crate::full_screen::terminal::Canvas::picture(size.0, size.1);
        crate::full_screen::draw::draw(&mut run.state, &mut picture, run.now);
        run.state.work();
    }
    assert!(run.state.job().is_some());
}
