//! The output at a terminal: the binary in a real one.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, wait_until_described};
use crate::tmux::Terminal;
use std::process::Command;

/// Three jobs that run until a file appears beside the repository; other jobs wait for them.
const PIPELINE: &str = "\
stages: [build, test, deploy]
compile:
  stage: build
  script: [echo compiling main.c, &wait 'until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done']
lint:
  stage: build
  script: [echo checking, *wait, echo 'one mistake found', exit 3]
docs: {stage: test, needs: [], script: [echo writing, *wait]}
unit-tests: {stage: test, needs: [compile], script: [echo testing]}
日本語 🦀: {stage: test, script: [echo hello]}
deploy: {stage: deploy, script: [echo deploying]}
";

fn project() -> Project {
    Project::with_pipeline(PIPELINE)
}

fn start(project: &Project, size: (u16, u16), arguments: &str) -> Terminal {
    let gate = project.scratch().join("gate");
    let command = format!(
        "run --concurrency 3 --variable GATE={} {arguments}",
        gate.display()
    );
    Terminal::start(project, size, &command)
}

/// Lets a job finish.
fn open(project: &Project, job: &str) {
    std::fs::write(project.scratch().join(format!("gate.{job}")), "").unwrap();
}

/// The text displayed when all three jobs wait for their files.
const HELD: &[&str] = &["3 running, 3 waiting"];

/// Waits until all three jobs have reached the command that waits.
fn wait_until_held(terminal: &Terminal) {
    wait_until_described(
        || format!("three jobs that wait in\n{}", terminal.text()),
        || {
            let text = terminal.text();
            let held = text.matches("$ until").count();
            held == 3 && HELD.iter().all(|part| text.contains(part))
        },
    );
}

#[test]
fn running_and_waiting_jobs_fit_80_and_200_columns() {
    // R-PIPE-21
    let project = project();
    let terminal = start(&project, (80, 24), "");
    wait_until_held(&terminal);
    insta::assert_snapshot!(terminal.normal_text(), @r#"

    • compile      T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • lint         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • docs         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      unit-tests         waits for compile
      日本語 🦀          waits for stage build
      deploy             waits for stage test
    T:TT  3 running, 3 waiting
    "#);
    drop(terminal);

    let terminal = start(&project, (200, 60), "");
    wait_until_held(&terminal);
    insta::assert_snapshot!(terminal.normal_text(), @r#"

    • compile      T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • lint         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • docs         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      unit-tests         waits for compile
      日本語 🦀          waits for stage build
      deploy             waits for stage test
    T:TT  3 running, 3 waiting
    "#);
}

#[test]
fn finished_jobs_are_above_the_live_view_and_failed_ones_have_their_log() {
    let project = project();
    let terminal = start(&project, (80, 24), "");
    wait_until_held(&terminal);
    open(&project, "lint");
    terminal.wait_for(&["✗ lint", "$ exit 3", "1 failed, 2 running, 3 waiting"]);
    insta::assert_snapshot!(terminal.normal_text(), @r#"
    ✗ lint          T.Ts  exit code 3
      $ echo checking
      checking
      $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      $ echo 'one mistake found'
      one mistake found
      $ exit 3

    • compile      T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • docs         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      unit-tests         waits for compile
      日本語 🦀          waits for stage build
      deploy             waits for stage test
    T:TT  1 failed, 2 running, 3 waiting
    "#);
}

#[test]
fn live_view_disappears_at_the_end() {
    let project = project();
    let terminal = start(&project, (80, 24), "--output live");
    wait_until_held(&terminal);
    open(&project, "compile");
    terminal.wait_for(&["✓ unit-tests"]);
    open(&project, "docs");
    terminal.wait_for(&["✓ docs"]);
    open(&project, "lint");
    terminal.wait_for(&["[exit code 1]"]);
    insta::assert_snapshot!(terminal.normal_text(), @r#"
    ✓ compile       T.Ts
    ✓ unit-tests    T.Ts
    ✓ docs          T.Ts
    ✗ lint          T.Ts  exit code 3
      $ echo checking
      checking
      $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      $ echo 'one mistake found'
      one mistake found
      $ exit 3

    ✗ lint failed in stage build with exit code 3, T.Ts
      | $ echo checking
      | checking
      | $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      | $ echo 'one mistake found'
      | one mistake found
      | $ exit 3
      whole log: .../job-100001-1.log
      run again: runwright run lint --no-needs --variable GATE=SCRATCH/gate

    pipeline 1: failed (3 success, 1 failed, 2 skipped), T.Ts
    [exit code 1]
    "#);
    assert!(terminal.is_as_before());
}

#[test]
fn grouped_logs_appear_when_their_jobs_end() {
    let project = project();
    let terminal = start(&project, (200, 60), "--output group");
    open(&project, "compile");
    terminal.wait_for(&["✓ unit-tests"]);
    open(&project, "docs");
    terminal.wait_for(&["✓ docs"]);
    open(&project, "lint");
    terminal.wait_for(&["[exit code 1]"]);
    insta::assert_snapshot!(terminal.normal_text(), @r#"
    ✓ compile       T.Ts
      $ echo compiling main.c
      compiling main.c
      $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done

    ✓ unit-tests    T.Ts
      $ echo testing
      testing

    ✓ docs          T.Ts
      $ echo writing
      writing
      $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done

    ✗ lint          T.Ts  exit code 3
      $ echo checking
      checking
      $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      $ echo 'one mistake found'
      one mistake found
      $ exit 3

    ✗ lint failed in stage build with exit code 3, T.Ts
      | $ echo checking
      | checking
      | $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      | $ echo 'one mistake found'
      | one mistake found
      | $ exit 3
      whole log: .../job-100001-1.log
      run again: runwright run lint --no-needs --variable GATE=SCRATCH/gate

    pipeline 1: failed (3 success, 1 failed, 2 skipped), T.Ts
    [exit code 1]
    "#);
}

#[test]
fn prefixed_lines_appear_at_once() {
    let project = Project::with_pipeline("a job: {script: [echo one, echo two]}\n");
    let terminal = start(&project, (80, 24), "--output prefix");
    terminal.wait_for(&["[exit code 0]"]);
    insta::assert_snapshot!(terminal.normal_text(), @r#"
    a job | $ echo one
    a job | one
    a job | $ echo two
    a job | two
    a job | success, T.Ts

    pipeline 1: success (1 success), T.Ts
    [exit code 0]
    "#);
}

#[test]
fn log_of_a_single_job_is_streamed() {
    let project = project();
    let terminal = start(&project, (80, 24), "lint --no-needs");
    terminal.wait_for(&["$ until", "1 running"]);
    insta::assert_snapshot!(terminal.normal_text(), @r#"
    $ echo checking
    checking
    $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done

    • lint   T:TT
    T:TT  1 running
    "#);
}

#[test]
fn resize_damages_nothing() {
    let project = project();
    let terminal = start(&project, (80, 24), "");
    wait_until_held(&terminal);
    terminal.resize(40, 20);
    wait_until_described(
        || terminal.text(),
        || view(&terminal).contains("stage build"),
    );
    let narrow = || {
        let view = view(&terminal);
        view.contains("3 running, 3 waiting") && view.lines().all(|line| line.chars().count() < 40)
    };
    wait_until_described(|| terminal.text(), narrow);
    insta::assert_snapshot!(view(&terminal), @r#"
    • compile      T:TT
    • lint         T:TT
    • docs         T:TT
      unit-tests  waits for compile
      日本語 🦀   waits for stage build
      deploy      waits for stage test
    T:TT  3 running, 3 waiting
    "#);
    terminal.resize(100, 20);
    let is_whole = |text: &str| text.contains("done") && text.contains("3 running, 3 waiting");
    wait_until_described(|| terminal.text(), || is_whole(&view(&terminal)));
    insta::assert_snapshot!(view(&terminal), @r#"
    • compile      T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • lint         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
    • docs         T:TT  $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done
      unit-tests         waits for compile
      日本語 🦀          waits for stage build
      deploy             waits for stage test
    T:TT  3 running, 3 waiting
    "#);
}

/// Returns the live view alone.
///
/// Right after a resize, the lines above it are the terminal's: tmux rewraps lines before it notifies programs, and
/// output drawn in between ends in the wrong place.
fn view(terminal: &Terminal) -> String {
    let text = terminal.normal_text();
    let begin = text.rfind("• compile").unwrap_or(0);
    text[begin..].to_owned()
}

#[test]
fn ctrl_c_restores_the_terminal() {
    let project = project();
    let terminal = start(&project, (80, 24), "");
    wait_until_held(&terminal);
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 130]"]);
    let text = terminal.text();
    assert!(text.contains("canceling; press Ctrl-C again"), "{text}");
    for job in ["compile", "lint", "docs"] {
        assert!(text.contains(&format!("■ {job}")), "{text}");
    }
    for part in ["running", "waits for", "^C"] {
        assert!(!text.contains(part), "{part} is left in\n{text}");
    }
    assert!(terminal.is_as_before());
}

#[test]
fn second_ctrl_c_restores_the_terminal_too() {
    let project = Project::with_pipeline(
        "a:\n  script: [trap '' TERM INT, echo ready, 'while true; do sleep 1; done']\nb: {needs: [a], script: [echo]}\n",
    );
    let terminal = Terminal::start(&project, (80, 24), "run");
    terminal.wait_for(&["$ while true", "1 running, 1 waiting"]);
    terminal.press("C-c");
    terminal.wait_for(&["canceling;"]);
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 130]"]);
    let text = terminal.text();
    assert!(text.contains("ending everything at once"), "{text}");
    assert!(!text.contains("waits for"), "{text}");
    assert!(terminal.is_as_before());
}

#[test]
fn job_output_cannot_damage_the_screen() {
    let project = Project::with_pipeline(
        "before: {script: [exit 1]}\nhostile:\n  needs: []\n  script:\n    - |\n      printf 'a\\033[2J\\033[1;1Hb\\033[?1049hc\\033]0;title\\007d\\033[?25le\\033[?7l\\n'\n      printf '10%%\\r20%%\\r30%%\\n\\033[31mred\\n'\n      exit 1\n",
    );
    let terminal = Terminal::start(&project, (80, 24), "run --concurrency 1");
    terminal.wait_for(&["[exit code 1]"]);
    let text = terminal.text();
    assert!(text.starts_with("✗ before"), "{text}");
    for line in ["  abcde", "  30%", "  red"] {
        assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
    }
    assert!(terminal.is_as_before());
}

#[test]
fn pipe_gets_no_escapes_in_any_layout() {
    let project = Project::with_pipeline(
        "a:\n  script:\n    - printf '\\033[31mred\\033[0m\\r50%%\\n'\n    - printf 'section_start:1:s\\r\\033[0KHeader\\n'\n    - exit 1\n",
    );
    for layout in [
        &[][..],
        &["--output", "prefix"],
        &["--output", "group", "-v"],
    ] {
        let arguments = [&["run"], layout].concat();
        let done = project.runwright(&arguments).expect_code(1);
        let all = done.all();
        assert!(!all.contains(['\x1b', '\r']), "{all:?}");
        assert!(all.contains("50%") && all.contains("Header"), "{all}");
    }
}

#[test]
fn ci_and_dumb_terminals_get_plain_lines() {
    // R-PIPE-21
    let project = Project::with_pipeline("a: {script: [echo hello]}\nb: {script: [echo hello]}\n");
    let program = env!("CARGO_BIN_EXE_runwright");
    for (name, value, colours) in [("CI", "true", true), ("TERM", "dumb", false)] {
        let output = Command::new("script")
            .args(["-qec", &format!("{program} run"), "/dev/null"])
            .current_dir(project.dir())
            .env("RUNWRIGHT_HOME", project.home())
            .env("TERM", "xterm-256color")
            .env_remove("CI")
            .env(name, value)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.contains("\x1b[32m"), colours, "{printed:?}");
        for movement in ["\x1b[A", "\x1b[2K", "\x1b[K"] {
            assert!(!printed.contains(movement), "{printed:?}");
        }
        assert!(printed.contains("hello\r\n"), "{printed:?}");
    }
}

#[test]
fn conflicting_options_are_refused_with_advice() {
    let project = Project::with_pipeline("a: {script: [echo hello]}\n");
    for (arguments, message, help) in [
        (
            ["--output", "live", "--progress", "auto"],
            "needs a terminal",
            "--output group",
        ),
        (
            ["--output", "live", "--progress", "plain"],
            "moves the cursor",
            "--output group",
        ),
        (
            ["--output", "group", "--progress", "json"],
            "has no meaning",
            "leave --output out",
        ),
    ] {
        let arguments = [&["run"], &arguments[..]].concat();
        let done = project.runwright(&arguments).expect_code(2);
        done.expect_text(message).expect_text(help);
    }
}
