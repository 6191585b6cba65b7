//! Entering jobs, at a terminal and without one.

use crate::project::Project;
use crate::tmux::Terminal;
use std::fs;

const PIPELINE: &str = "\
variables: {GREETING: hello}
stages: [build, test]
build: {stage: build, script: [mkdir out, echo built >out/file], artifacts: {paths: [out]}}
test:
  stage: test
  script:
    - cat out/file
    - |
      for i in 1 2; do
        echo \"$GREETING-$i\"
      done
    - touch left-by-script; exit 4
  after_script: [ls left-by-script, echo after-it]
hand: {stage: test, when: manual, script: [echo by hand]}
never: {stage: test, rules: [{if: $NOPE}], script: [echo never]}
many: {stage: test, parallel: 2, script: [echo one of two]}
down: {stage: test, trigger: {include: .gitlab-ci.yml}}
";

fn project() -> Project {
    Project::with_pipeline(PIPELINE)
}

/// Returns the entries of the directory of runs, and of what is to be removed after a death.
fn left(project: &Project) -> Vec<String> {
    let mut left = Vec::new();
    for state in fs::read_dir(project.home().join("projects")).unwrap() {
        let runs = fs::read_dir(state.unwrap().path().join("pipelines"));
        let names = runs.into_iter().flatten();
        left.extend(names.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    }
    left
}

#[test]
fn a_command_runs_where_the_script_would() {
    let project = project();
    let script = "cat out/file; echo \"$GREETING $CI_JOB_NAME\"; echo trouble >&2; exit 5";
    let done = project.runwright(&["shell", "test", "--", "sh", "-c", script]);
    let done = done
        .expect_code(5)
        .expect_text("no run has artifacts of \"build\"");
    assert_eq!(done.stdout, "hello test\n", "{}", done.stderr);
    project.runwright(&["run", "build"]).expect_code(0);
    let before = left(&project);
    let done = project.runwright(&["shell", "test", "--", "sh", "-c", script]);
    let done = done.expect_code(5).expect_text("trouble");
    assert_eq!(done.stdout, "built\nhello test\n", "{}", done.stderr);
    assert!(
        done.stderr.contains("of \"build\" are those of run"),
        "{}",
        done.stderr
    );
    assert_eq!(left(&project), before, "nothing of it stays");
    assert!(!project.dir().join("left-by-script").exists());
}

#[test]
fn any_job_can_be_entered() {
    let project = project();
    let enter = |job: &str| project.runwright(&["shell", job, "--", "printenv", "CI_JOB_NAME"]);
    for job in ["hand", "never", "many 2/2"] {
        assert_eq!(enter(job).expect_code(0).stdout, format!("{job}\n"));
    }
    enter("many")
        .expect_code(2)
        .expect_text("\"many\" means 2 jobs");
    enter("down")
        .expect_code(2)
        .expect_text("starts another pipeline");
    enter("nope").expect_code(2).expect_text("nope");
    let done = project.runwright(&["shell", "test", "--needs", "--", "cat", "out/file"]);
    assert_eq!(done.expect_code(0).stdout, "built\n");
}

#[test]
fn without_a_terminal_there_is_no_shell() {
    let project = project();
    let done = project.runwright(&["shell", "hand"]);
    done.expect_code(2).expect_text("a shell needs a terminal");
    let done = project.runwright(&["run", "--shell-on-failure"]);
    done.expect_code(2)
        .expect_text("--shell-on-failure needs a terminal");
}

#[test]
fn a_job_is_entered_at_a_terminal() {
    let project = project();
    project.runwright(&["run", "build"]).expect_code(0);
    let before = left(&project);
    let terminal = Terminal::start(&project, (100, 40), "shell test");
    terminal.wait_for(&["changes are gone", "[job test] $"]);
    terminal.type_line("cat out/file; echo $((6*7))-$CI_JOB_NAME");
    terminal.wait_for(&["built", "42-test"]);
    terminal.type_line("rerun 2");
    terminal.wait_for(&["hello-1", "hello-2"]);
    // The script is the history: behind what was typed, its last line.
    for _ in 0..3 {
        terminal.press("Up");
    }
    terminal.wait_for(&["$ touch left-by-script; exit 4"]);
    terminal.press("C-c");
    terminal.type_line("echo begun-$((1+1)); sleep 1000");
    terminal.wait_for(&["begun-2"]);
    terminal.press("C-c");
    terminal.type_line("echo over-$((1+2)); sleep 1000");
    terminal.wait_for(&["over-3"]);
    terminal.press("C-z");
    terminal.wait_for(&["Stopped"]);
    terminal.type_line("kill %1; stty size");
    terminal.wait_for(&["40 100"]);
    terminal.resize(90, 35);
    terminal.type_line("stty size");
    terminal.wait_for(&["35 90"]);
    terminal.type_line("exit 7");
    terminal.wait_for(&["[exit code 7]"]);
    assert!(terminal.is_as_before());
    assert_eq!(left(&project), before, "nothing of it stays");
}

#[test]
fn a_job_that_fails_is_entered_before_it_goes_on() {
    let project = project();
    let arguments = "run test --shell-on-failure --output prefix";
    let terminal = Terminal::start(&project, (100, 50), arguments);
    terminal.wait_for(&[
        "job \"test\" failed: script exited with code 4",
        "[job test] $",
    ]);
    terminal.type_line("ls left-by-*; echo $((6*7))-$CI_JOB_NAME");
    terminal.wait_for(&["42-test"]);
    assert!(
        !terminal.text().contains("after-it\n"),
        "{}",
        terminal.text()
    );
    terminal.press("C-d");
    terminal.wait_for(&["after-it", "[exit code 1]"]);
    assert!(terminal.is_as_before());
}
