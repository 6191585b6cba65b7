//! `--progress tui`: the binary in full-screen mode on a real terminal, driven by keys.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Project, files_below, is_of_slow_stage, wait_until_described};
use crate::tmux::Terminal;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Jobs that run until a file appears beside the repository; one fails while another file is missing.
const PIPELINE: &str = "\
stages: [build, test, deploy]
compile:
  stage: build
  script: [echo compiling main.c, &wait 'until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done']
docs: {stage: test, needs: [], script: [echo writing, *wait]}
unit-tests: {stage: test, needs: [compile], script: [echo testing, test -e $GATE.fixed]}
deploy: {stage: deploy, when: manual, needs: [], script: ['echo deploying to $WHERE']}
";

fn project() -> Project {
    Project::with_pipeline(PIPELINE)
}

fn start(project: &Project, size: (u16, u16)) -> Terminal {
    let gate = project.scratch().join("gate");
    let command = format!(
        "run --progress tui --concurrency 3 --variable GATE={}",
        gate.display()
    );
    Terminal::start(project, size, &command)
}

/// Lets a job finish.
fn open(project: &Project, job: &str) {
    fs::write(project.scratch().join(format!("gate.{job}")), "").unwrap();
}

fn wait_until_held(terminal: &Terminal) {
    terminal.wait_for(&["2 running", "1 manual", "$ until test"]);
}

/// Returns the id of the process that displays a project's run.
fn process_of(project: &Project) -> u32 {
    let home = format!("RUNWRIGHT_HOME={}", project.home().display());
    let mut found = None;
    wait_until_described(
        || "the process of the run".to_owned(),
        || {
            let processes = fs::read_dir("/proc").unwrap().flatten();
            found = processes
                .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
                .find(|id| {
                    let read = |file| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
                    let environment = String::from_utf8_lossy(&read("environ")).into_owned();
                    let command = String::from_utf8_lossy(&read("cmdline")).into_owned();
                    environment.contains(&home)
                        && command.starts_with(env!("CARGO_BIN_EXE_runwright"))
                        && command.contains("--progress\0tui")
                });
            found.is_some()
        },
    );
    found.unwrap()
}

#[test]
fn jobs_and_log_fit_80_and_140_columns() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    terminal.wait_for(&[
        "pipeline 1  main  push  running",
        "\nbuild 0/1\n • compile ",
        "\ntest 0/2\n • docs ",
        "▸  unit-tests",
        "\ndeploy 0/1\n ○ deploy",
        "─ • compile ",
        "\n$ echo compiling main.c\ncompiling main.c\n$ until test",
        "\n? help  q quit  Tab log ",
    ]);
    assert_eq!(terminal.screen().lines().count(), 24);
    terminal.resize(140, 40);
    terminal.wait_for(&["│ job       compile", "\n? help  q quit"]);
    let wide = terminal.screen();
    let heads = wide.lines().nth(1).unwrap();
    let heads: Vec<&str> = heads.split_whitespace().collect();
    assert_eq!(heads, ["build", "0/1", "test", "0/2", "deploy", "0/1"]);
    assert!(wide.contains("│ needed by unit-tests"), "{wide}");
    assert_eq!(wide.lines().count(), 40);
}

/// Returns the screen while jobs run, and a larger one after they end. Returns `None` if a stage of the runner's own
/// took long enough to be displayed.
fn pictures() -> Option<[String; 2]> {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    let small = terminal.normal_screen();
    open(&project, "compile");
    open(&project, "docs");
    terminal.wait_for(&["push  failed", "✗ unit-tests", "✓ docs"]);
    terminal.resize(140, 40);
    terminal.type_keys(&["n"]);
    terminal.wait_for(&["│ job       unit-tests"]);
    let wide = terminal.normal_screen();
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 1]"]);
    let of_log = |line: &'_ str| line.split('│').next().is_some_and(is_of_slow_stage);
    let slow = |screen: &String| screen.lines().any(of_log);
    let pictures = [small, wide];
    (!pictures.iter().any(slow)).then_some(pictures)
}

#[test]
fn full_screen_matches_the_snapshots() {
    let drawn = (0..20).find_map(|_| pictures());
    let [small, wide] =
        drawn.expect("no stage of the runner's own takes a second, once in a while");
    insta::assert_snapshot!(small, @r"
    pipeline 1  main  push  running  T:TT   2 running, 1 waiting, 1 manual
    build 0/1
     • compile                                           T:TT
    test 0/2
     • docs                                              T:TT
    ▸  unit-tests
    deploy 0/1
     ○ deploy
    ─ • compile  T:TT  step script ────────────────────────────── 3 lines, follows ─
    $ echo compiling main.c
    compiling main.c
    $ until test -e $GATE.$CI_JOB_NAME; do sleep 0.05; done











    ? help  q quit  Tab log  r retry  p play  c cancel  s shell  n next failed
    ");
    insta::assert_snapshot!(wide, @r"
    pipeline 1  main  push  failed  T:TT   1 failed, 2 done, 1 manual
    build 1/1                           test 2/2                            deploy 0/1
    ◂✓ compile                     T:TT  ✓ docs                        T:TT  ○ deploy
                                         ✗ unit-tests                  T:TT
    ─ ✗ unit-tests  failed, exit code 1, T.Ts ─────────────────────────────────────────────────────────────────────────────── 3 lines, follows ─
    $ echo testing                                                                                        │ job       unit-tests
    testing                                                                                               │ stage     test
    $ test -e $GATE.fixed                                                                                 │ status    failed
                                                                                                          │ time      T.Ts
                                                                                                          │ exit code 1
                                                                                                          │ reason    script_failure
                                                                                                          │ needs     compile
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
                                                                                                          │
    ? help  q quit  Tab log  r retry  p play  c cancel  s shell  n next failed  / filter  d details  z zoom
    ");
}

#[test]
fn shell_opens_beside_a_running_job() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    terminal.type_keys(&["s"]);
    terminal.wait_for(&["which keeps running meanwhile", "[job compile] $"]);
    terminal.type_line("echo in-$CI_JOB_NAME; test -t 0 && echo at-$((1+1)); tr a-z A-Z");
    // The shell has read its line, so the next one is for `tr`.
    terminal.wait_for(&["in-compile", "at-2"]);
    terminal.type_line("meow");
    terminal.wait_for(&["MEOW"]);
    // The shell receives the keys.
    terminal.press("C-c");
    terminal.wait_for(&["^C\n[job compile] $"]);
    let prompts = || terminal.text().matches("[job compile] $").count();
    let before = prompts();
    terminal.type_line("touch $GATE.docs; exit 3");
    terminal.wait_for(&["1 running", "✓ docs", "? help"]);
    assert!(!terminal.screen().contains("at-2"), "all is drawn anew");
    // A user inside a job is notified when the job ends.
    terminal.type_keys(&["s"]);
    wait_until_described(|| terminal.text(), || prompts() > before);
    open(&project, "compile");
    terminal.wait_for(&["the shell has ended with the job compile", "✗ unit-tests"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 1]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn shell_opens_in_a_finished_or_waiting_job() {
    let project = project();
    open(&project, "docs");
    let terminal = start(&project, (100, 30));
    terminal.wait_for(&["✓ docs", "1 running", "○ deploy"]);
    // The job waits for another one.
    terminal.type_keys(&["j", "j", "s"]);
    terminal.wait_for(&["its script has not run", "[job unit-tests] $"]);
    terminal.type_line("echo in-$CI_JOB_NAME; ls .git >/dev/null && exit 7");
    terminal.wait_for(&["1 running", "? help"]);
    // The job has ended.
    terminal.type_keys(&["k", "s"]);
    terminal.wait_for(&["[job docs] $"]);
    terminal.press("C-d");
    terminal.wait_for(&["1 running", "? help"]);
    terminal.type_keys(&["q", "c"]);
    terminal.wait_for(&["[exit code 130]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn signal_ends_the_shell_too() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    terminal.type_keys(&["G", "s"]);
    terminal.wait_for(&["[job deploy] $"]);
    let id = process_of(&project).to_string();
    let sent = Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(sent.unwrap().success());
    terminal.wait_for(&["[exit code 130]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn job_that_cannot_be_entered_shows_the_reason() {
    let project = Project::with_pipeline(
        "a: {script: [echo hello]}\ndown: {trigger: {include: child.yml}}\n",
    );
    project.write("child.yml", "inner: {script: [echo from inside]}\n");
    project.commit();
    let terminal = Terminal::start(&project, (100, 30), "run --progress tui");
    terminal.wait_for(&["✓ inner", "✓ down", "success"]);
    terminal.type_keys(&["G"]);
    terminal.wait_for(&["down > test", "\nfrom inside"]);
    terminal.type_keys(&["s"]);
    terminal.wait_for(&["a shell in a job of a child pipeline needs a running job"]);
    let has_ended = |path: &PathBuf| {
        path.ends_with("journal.jsonl")
            && fs::read_to_string(path).is_ok_and(|text| text.contains("pipeline_done"))
    };
    wait_until_described(
        || "the child pipeline's end".to_owned(),
        || files_below(&project.home()).iter().any(has_ended),
    );
    terminal.type_keys(&["r"]);
    terminal.wait_for(&["the pipeline has ended; the job that started it can be run again"]);
    terminal.type_keys(&["k", "s"]);
    terminal.wait_for(&["error: ", "starts another pipeline"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 0]"]);
}

#[test]
fn resumed_runs_have_a_full_screen_too() {
    let project = Project::with_pipeline(
        "a: {script: [test -e $CI_PROJECT_DIR/../x || test -n \"$AGAIN\"]}\n",
    );
    project.runwright(&["run"]).expect_code(1);
    let terminal = Terminal::start(&project, (80, 24), "retry --progress tui");
    terminal.wait_for(&["✗ a", "exit code 1"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["pipeline 1: failed", "[exit code 1]"]);
    let terminal = Terminal::start(&project, (80, 25), "resume --progress tui");
    terminal.wait_for(&["[exit code"]);
}

#[test]
fn expected_duration_is_shown_when_known() {
    let project =
        Project::with_pipeline("a: {script: [sleep 2, 'test -z \"$GATE\" || sleep 1000']}\n");
    for _ in 0..3 {
        project.runwright(&["run"]).expect_code(0);
    }
    let terminal = Terminal::start(&project, (80, 24), "run --progress tui --variable GATE=x");
    terminal.wait_for(&[", about 0:0", " left"]);
    terminal.type_keys(&["q", "c"]);
    terminal.wait_for(&["[exit code 130]"]);
}

#[test]
fn details_list_artifacts_and_tests() {
    let project = Project::with_pipeline(
        "a:\n  script:\n    - printf 12345 >out\n    - printf '<testsuite name=\"s\"><testcase name=\"good\"/><testcase name=\"bad\\033[2J\"><failure>no</failure></testcase></testsuite>' >t.xml\n    - exit 3\n  artifacts: {when: always, paths: [out], reports: {junit: t.xml}}\n",
    );
    let terminal = Terminal::start(&project, (140, 40), "run --progress tui");
    terminal.wait_for(&[
        "│ artifacts 1 file, 5 B",
        "│ exit code 3",
        "│ tests     2 tests, 1 failed",
        "s > bad",
    ]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 1]"]);
}

#[test]
fn mouse_selects_jobs_when_enabled() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    assert!(!terminal.has_mouse());
    terminal.type_keys(&["m"]);
    terminal.wait_for(&["the mouse selects jobs"]);
    assert!(terminal.has_mouse());
    // A press and a release of the first button in the second column of the fifth row.
    terminal.type_text("\x1b[<0;2;5M\x1b[<0;2;5m");
    terminal.wait_for(&["─ • docs"]);
    terminal.type_keys(&["m"]);
    terminal.wait_for(&["the mouse marks text"]);
    assert!(!terminal.has_mouse());
    terminal.type_keys(&["q", "c"]);
    terminal.wait_for(&["[exit code 130]"]);
}

#[test]
fn watch_and_shell_on_failure_refuse_the_full_screen() {
    let project = project();
    project
        .runwright(&["watch", "--progress", "tui"])
        .expect_code(2)
        .expect_text("--progress tui cannot be used with watch");
    project
        .runwright(&["run", "--progress", "tui", "--shell-on-failure"])
        .expect_code(2);
}

#[test]
fn keys_search_fold_play_and_retry_and_the_last_attempt_decides_the_exit_code() {
    let project = project();
    let terminal = start(&project, (100, 30));
    wait_until_held(&terminal);
    // Search in the log of the selected job.
    terminal.type_keys(&["Tab", "/", "MAIN.C", "Enter"]);
    terminal.wait_for(&["no \"MAIN.C\" in this log"]);
    terminal.type_keys(&["/", "main.c", "Enter"]);
    terminal.wait_for(&["\"main.c\" 1/2", "line 1 of "]);
    terminal.type_keys(&["n"]);
    terminal.wait_for(&["\"main.c\" 2/2", "line 2 of "]);
    terminal.type_keys(&["Escape", "Tab"]);
    // Start a manual job with a variable.
    terminal.type_keys(&["G", "P", "WHERE=moon", "Enter"]);
    terminal.wait_for(&["✓ deploy", "deploying to moon"]);
    open(&project, "compile");
    open(&project, "docs");
    terminal.wait_for(&["push  failed", "✗ unit-tests", "✓ docs"]);
    // The run stays open, so that a failed job can run again after a fix.
    open(&project, "fixed");
    terminal.type_keys(&["n", "r"]);
    terminal.wait_for(&["✓ unit-tests", "success, attempt 2", "4 done"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["pipeline 1: success (4 success)", "[exit code 0]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn sections_fold_and_unfold() {
    let project = Project::with_pipeline(
        "a:\n  script:\n    - printf 'section_start:10:s[collapsed=true]\\r\\033[0KGet deps\\nin\"\"side\\nsection_end:15:s\\r\\033[0K\\n'\n    - echo end\n",
    );
    let terminal = Terminal::start(&project, (100, 30), "run --progress tui");
    terminal.wait_for(&["▸ Get deps  1 line, 5s", "\nend"]);
    assert!(!terminal.screen().contains("\nin\"\"side"));
    terminal.type_keys(&["Tab", "F"]);
    terminal.wait_for(&["▾ Get deps  5s", "\nin\"\"side", "✓ a"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 0]"]);
}

#[test]
fn one_job_and_then_all_are_canceled() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    terminal.type_keys(&["c"]);
    terminal.wait_for(&["cancel the job compile? y/n"]);
    terminal.type_keys(&["y"]);
    terminal.wait_for(&["■ compile", "1 running"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["jobs are running: c cancels them"]);
    terminal.type_keys(&["c"]);
    terminal.wait_for(&["[exit code 130]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn second_ctrl_c_ends_everything_at_once() {
    let project = Project::with_pipeline(
        "a: {script: [trap '' TERM INT, echo ready, 'while true; do sleep 1; done']}\n",
    );
    let terminal = Terminal::start(&project, (80, 24), "run --progress tui");
    terminal.wait_for(&["$ while true"]);
    terminal.press("C-c");
    terminal.wait_for(&["jobs are running"]);
    terminal.press("C-c");
    terminal.wait_for(&["[exit code 130]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn signal_restores_the_terminal() {
    for signal in ["TERM", "HUP"] {
        let project = project();
        let terminal = start(&project, (80, 24));
        wait_until_held(&terminal);
        let id = process_of(&project).to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        terminal.wait_for(&["[exit code 130]"]);
        assert!(terminal.is_as_before(), "{signal}");
    }
}

#[test]
fn suspended_program_resumes() {
    let project = project();
    let gate = project.scratch().join("gate");
    let command = format!("run --progress tui --variable GATE={}", gate.display());
    let terminal = Terminal::start_in_shell(&project, (80, 24), &command);
    wait_until_held(&terminal);
    terminal.press("C-z");
    terminal.wait_for(&["Stopped"]);
    assert!(terminal.is_as_before());
    terminal.type_keys(&["fg", "Enter"]);
    wait_until_held(&terminal);
    terminal.type_keys(&["q", "c"]);
    terminal.wait_for(&["pipeline 1: canceled"]);
    assert!(terminal.is_as_before());
}

#[test]
fn frequent_resizes_do_no_harm() {
    let project = project();
    let terminal = start(&project, (80, 24));
    wait_until_held(&terminal);
    for step in 0..40_u16 {
        terminal.resize(10 + step * 37 % 190, 3 + step * 13 % 60);
    }
    terminal.resize(20, 5);
    wait_until_described(
        || terminal.screen(),
        || terminal.screen().lines().count() == 5,
    );
    terminal.wait_for(&["pipeline 1"]);
    terminal.resize(80, 24);
    wait_until_held(&terminal);
    terminal.type_keys(&["q", "c"]);
    terminal.wait_for(&["[exit code 130]"]);
}

#[test]
fn flood_of_output_stays_readable_and_bounded_in_memory() {
    let project = Project::with_pipeline(
        r#"
job:
  script:
    - line=$(printf '%0999d' 7)
    - for _ in $(seq 100); do lines="$lines$line"$'\n'; done
    - for _ in $(seq 1200); do printf '%s' "$lines"; done
    - echo the-end
"#,
    );
    let terminal = Terminal::start(&project, (80, 24), "run --progress tui");
    terminal.wait_for(&["1 running", "lines, follows", "\n00000"]);
    let id = process_of(&project);
    terminal.type_keys(&["Tab", "g"]);
    terminal.wait_for(&["line 1 of "]);
    terminal.type_keys(&["G"]);
    terminal.wait_for(&["\nthe-end", "✓ job"]);
    terminal.type_keys(&["/", "the-end", "Enter"]);
    terminal.wait_for(&["\"the-end\" 2/2"]);
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let most = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let most: u64 = most.unwrap().trim().parse().unwrap();
    eprintln!("120 MB of a log took {most} KiB at most");
    assert!(most < 96 * 1024, "{most} KiB");
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 0]"]);
}

#[test]
fn control_sequences_in_names_and_lines_have_no_effect() {
    let project = Project::with_pipeline(
        "\"na\\e[2Jme\":\n  script:\n    - printf 'a\\033[2Jb\\033[?1049lc\\033]0;t\\007d\\n'\n",
    );
    let terminal = Terminal::start(&project, (80, 24), "run --progress tui");
    terminal.wait_for(&["✓ name", "\nabcd"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 0]"]);
    assert!(terminal.is_as_before());
}

#[test]
fn setting_enables_the_full_screen_at_a_terminal() {
    let project = Project::with_pipeline("a: {script: [echo hello]}\n");
    project.write(
        ".runwright.toml",
        "[run]\nprogress = \"tui\"\noutput = \"group\"\n",
    );
    project.runwright(&["run"]).expect_code(0);
    let terminal = Terminal::start(&project, (80, 24), "run");
    terminal.wait_for(&["✓ a ", "? help"]);
    terminal.type_keys(&["q"]);
    terminal.wait_for(&["[exit code 0]"]);
    let terminal = Terminal::start(&project, (80, 25), "run --output prefix");
    terminal.wait_for(&["a | hello", "[exit code 0]"]);
}

#[test]
fn full_screen_requires_a_terminal_and_conflicts_with_layout() {
    let project = project();
    project
        .runwright(&["run", "--progress", "tui"])
        .expect_code(2)
        .expect_text("--progress tui needs a terminal")
        .expect_text("use --progress plain");
    project
        .runwright(&["run", "--progress", "tui", "--output", "group"])
        .expect_code(2)
        .expect_text("--output has no meaning with --progress tui");
}
