//! Opening a shell in a job, with and without a terminal.

use crate::project::{Project, processes_with, wait_until};
use crate::tmux::Terminal;
use rustix::process::{Pid, Signal, kill_process};
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

/// Returns the entries of the runs directory, and of the directory of things to remove after a crash.
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
fn command_runs_in_the_environment_of_the_script() {
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
        .expect_text("\"many\" matches 2");
    enter("down")
        .expect_code(2)
        .expect_text("starts another pipeline");
    enter("nope").expect_code(2).expect_text("nope");
    let done = project.runwright(&["shell", "test", "--needs", "--", "cat", "out/file"]);
    assert_eq!(done.expect_code(0).stdout, "built\n");

    // Neither the workflow nor another job keeps one from being entered.
    for pipeline in [
        "workflow: {rules: [{if: $NO}]}\na: {script: 'true'}\n",
        "a: {script: 'true', rules: [{if: $NO}]}\nb: {script: 'true', needs: [a]}\n",
    ] {
        let project = Project::with_pipeline(pipeline);
        let done = project.runwright(&["shell", "a", "--", "echo", "inside"]);
        assert_eq!(done.expect_code(0).stdout, "inside\n", "{pipeline}");
    }
}

#[test]
fn no_shell_opens_without_a_terminal() {
    let project = project();
    let done = project.runwright(&["shell", "hand"]);
    done.expect_code(2).expect_text("a shell needs a terminal");
    let done = project.runwright(&["run", "--shell-on-failure"]);
    done.expect_code(2)
        .expect_text("--shell-on-failure needs a terminal");
}

#[test]
fn shell_opens_at_a_terminal() {
    let project = project();
    project.runwright(&["run", "build"]).expect_code(0);
    let before = left(&project);
    let terminal = Terminal::start(&project, (100, 40), "shell test");
    terminal.wait_for(&["changes are not kept", "[job test] $"]);
    terminal.type_line("cat out/file; echo $((6*7))-$CI_JOB_NAME");
    terminal.wait_for(&["built", "42-test"]);
    terminal.type_line("rerun 2");
    terminal.wait_for(&["hello-1", "hello-2"]);
    // The script is in the history: the entry before the typed lines is its last line.
    for _ in 0..3 {
        terminal.press("Up");
    }
    terminal.wait_for(&["$ touch left-by-script; exit 4"]);
    terminal.press("C-c");
    // Text typed before the shell reads would appear after the line.
    terminal.wait_for(&["exit 4^C"]);
    // The process that prints this is the one that receives the key.
    terminal.type_line("sh -c 'echo begun-$((1+1)); exec sleep 1000'");
    terminal.wait_for(&["begun-2"]);
    terminal.press("C-c");
    terminal.type_line("sh -c 'echo over-$((1+2)); exec sleep 1000'");
    terminal.wait_for(&["over-3"]);
    terminal.press("C-z");
    terminal.wait_for(&["Stopped"]);
    terminal.type_line("kill %1; stty size");
    terminal.wait_for(&["40 100"]);
    terminal.resize(90, 35);
    let grown = "until test \"$(stty size)\" = '35 90'; do sleep 0.1; done; echo seen-$((1+1))";
    terminal.type_line(grown);
    terminal.wait_for(&["seen-2"]);
    terminal.type_line("exit 7");
    terminal.wait_for(&["[exit code 7]"]);
    assert!(terminal.is_as_before());
    assert_eq!(left(&project), before, "nothing of it stays");
}

#[test]
fn shell_opens_in_a_failed_job_before_the_run_continues() {
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
    // The shell handles the key only after it has printed its next prompt.
    let prompts = || terminal.text().matches("[job test] $").count();
    wait_until("the next prompt", || prompts() == 2);
    terminal.press("C-d");
    terminal.wait_for(&["after-it", "[exit code 1]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn shell_leaves_no_run_record_and_a_mistake_leaves_nothing() {
    let project = project();
    project
        .runwright(&["shell", "hand", "--", "true"])
        .expect_code(0);
    let several = project.runwright(&["shell", "many", "--", "true"]);
    several.expect_code(2);
    let state = fs::read_dir(project.home().join("projects")).unwrap();
    for state in state {
        let state = state.unwrap().path();
        assert!(!state.join("durations").exists(), "it would count as a run");
    }
    assert_eq!(left(&project), Vec::<String>::new());
    let done = project.runwright(&["shell", "man*1/2", "--", "printenv", "CI_JOB_NAME"]);
    assert_eq!(done.expect_code(0).stdout, "many 1/2\n", "by a glob");
}

#[test]
fn command_in_a_job_prints_no_secret() {
    let project = project();
    let mut command = project.command(&["shell", "hand", "--secret", "TOKEN", "--"]);
    command.args(["sh", "-c", "echo =$TOKEN=; echo =$TOKEN= >&2"]);
    let done = command.env("TOKEN", "never-to-be-seen").output().unwrap();
    assert_eq!(done.stdout, b"=[MASKED]=\n");
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(errors.contains("=[MASKED]="), "{errors}");
}

#[test]
fn missing_job_name_is_prompted_for() {
    let project = project();
    let done = project.runwright(&["shell"]);
    done.expect_code(2).expect_text("name a job");
    let terminal = Terminal::start(&project, (100, 30), "shell");
    terminal.wait_for(&["Which job should the shell open in?", "build", "never"]);
    assert!(!terminal.text().contains("down"), "it runs no script");
    terminal.type_text("nev");
    terminal.wait_for(&["> never"]);
    terminal.press("Enter");
    terminal.wait_for(&["[job never] $"]);
    terminal.press("C-d");
    terminal.wait_for(&["[exit code 0]"]);
    let terminal = Terminal::start(&project, (101, 30), "shell");
    terminal.wait_for(&["Which job should the shell open in?"]);
    terminal.press("Escape");
    terminal.wait_for(&["[exit code 130]"]);
}

#[test]
fn setting_opens_shells_only_in_an_interactive_run() {
    let project = project();
    project.write(".runwright.toml", "[run]\nshell-on-failure = true\n");
    project.runwright(&["run", "test"]).expect_code(1);
    let done = project.runwright(&["watch", "--shell-on-failure", "test"]);
    done.expect_code(2).expect_text("cannot be used with watch");
    let terminal = Terminal::start(&project, (100, 40), "run test");
    terminal.wait_for(&["[job test] $"]);
    terminal.press("C-d");
    terminal.wait_for(&["[exit code 1]"]);
    let off = "run test --shell-on-failure=false";
    let terminal = Terminal::start(&project, (101, 40), off);
    terminal.wait_for(&["[exit code 1]"]);
    assert!(!terminal.text().contains("[job test]"));
}

#[test]
fn jobs_that_fail_together_are_entered_one_after_the_other() {
    let project = Project::with_pipeline(
        "a: {script: [\"exit 3\"], parallel: {matrix: [{OS: [x, y]}]}}\n\
         fine: {script: [\"exit 4\"], allow_failure: true}\n\
         twice: {script: [\"exit 5\"], retry: 1}\n",
    );
    let arguments = "run --shell-on-failure --concurrency 4";
    let terminal = Terminal::start(&project, (120, 60), arguments);
    for number in 1..=3 {
        // Each shell prints one prompt, since the test leaves it at once.
        let prompts = || terminal.text().matches("] $").count();
        wait_until("the next shell", || prompts() == number);
        terminal.type_line("exit");
    }
    terminal.wait_for(&["[exit code 1]"]);
    let text = terminal.text();
    for job in ["a: [x]", "a: [y]", "twice"] {
        assert_eq!(text.matches(&format!("job \"{job}\" failed")).count(), 1);
    }
    assert!(!text.contains("job \"fine\" failed"), "{text}");
}

/// Enters a job in which a process sleeps, ends the program by a signal, and checks for leftovers.
fn check_end(signal: Signal, width: u16, shown: &str) {
    let project = project();
    let seconds = (700_000 + std::process::id() % 1000 * 100 + u32::from(width)).to_string();
    let terminal = Terminal::start(&project, (width, 30), "shell hand");
    terminal.wait_for(&["[job hand] $"]);
    terminal.type_line(&format!(
        "sleep {seconds} & echo up-$((1+1)); sleep {seconds}"
    ));
    terminal.wait_for(&["up-2"]);
    let is_program = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim() == "runwright")
    };
    let home = project.home();
    let of_home = processes_with(home.to_str().unwrap());
    let parents = of_home.into_iter().filter(is_program);
    let program = parents.min().expect("it runs");
    let pid = Pid::from_raw(program.try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    terminal.wait_for(&[shown]);
    wait_until("nothing runs", || processes_with(&seconds).is_empty());
    wait_until("nothing is left", || left(&project).is_empty());
}

#[test]
fn shell_ends_with_the_program() {
    check_end(Signal::HUP, 100, "[exit code 130]");
    check_end(Signal::TERM, 101, "[exit code 130]");
    check_end(Signal::KILL, 102, "[exit code 137]");
}

#[test]
fn shell_ends_when_its_terminal_closes() {
    let project = project();
    let terminal = Terminal::start_in_shell(&project, (100, 30), "shell hand");
    terminal.wait_for(&["[job hand] $"]);
    let seconds = (800_000 + std::process::id() % 1000).to_string();
    terminal.type_line(&format!("echo up-$((1+1)); sleep {seconds}"));
    terminal.wait_for(&["up-2"]);
    drop(terminal);
    wait_until("nothing runs", || processes_with(&seconds).is_empty());
    wait_until("nothing is left", || left(&project).is_empty());
}
