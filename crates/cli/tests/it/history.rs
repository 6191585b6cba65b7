//! `runwright history` and `runwright logs`, for running and past runs.

use crate::project::{Project, files_below, wait_until};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

const PIPELINE: &str = "
good: {script: [echo all is good, 'echo token $TOKEN', 'echo out; echo err >&2']}
bad: {script: ['exit 3'], allow_failure: true}
later: {script: [echo never], when: manual}
";

/// Returns the runs as `history --json` lists them.
fn runs(project: &Project, options: &[&str]) -> Vec<Value> {
    let words = [&["history", "--json"], options].concat();
    let done = project.runwright(&words).expect_code(0);
    serde_json::from_str(&done.stdout).unwrap()
}

fn states(project: &Project) -> Vec<(u64, String)> {
    let state = |run: &Value| {
        let state = run["state"].as_str().unwrap();
        (run["id"].as_u64().unwrap(), state.to_owned())
    };
    runs(project, &[]).iter().map(state).collect()
}

/// Starts a run whose job waits for the file `go` beside the project, and waits until it runs.
fn start_waiting(project: &Project) -> std::process::Child {
    let go = project.scratch().join("go");
    let go = format!("GO={}", go.display());
    let child = project.start(&["run", "--variable", &go]);
    project.wait_for("| it begins");
    child
}

const WAITING: &str = "
first: {stage: build, script: [echo done at once]}
slow:
  script:
    - echo it begins
    - for i in $(seq 1200); do test -e $GO && break; sleep 0.05; done
    - echo it ends
";

fn go(project: &Project) {
    fs::write(project.scratch().join("go"), "").unwrap();
}

#[test]
fn run_without_a_job_is_not_stored() {
    let project = Project::with_pipeline(PIPELINE);
    project.runwright(&["run"]).expect_code(0);
    let pipeline = format!("workflow: {{rules: [{{if: $NEVER}}]}}\n{PIPELINE}");
    project.write(".gitlab-ci.yml", &pipeline);
    for _ in 0..2 {
        let done = project.runwright(&["run"]).expect_code(0);
        assert!(done.stdout.contains("no job to run"), "{done:?}");
    }
    assert_eq!(states(&project), [(1, "success".to_owned())]);
    let log = project.runwright(&["logs", "good"]).expect_code(0);
    assert!(log.stdout.contains("all is good"), "{log:?}");
    project.write(".gitlab-ci.yml", PIPELINE);
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(done.stdout.contains("pipeline 2: success"), "{done:?}");
}

#[test]
fn runs_are_listed_newest_first() {
    let project = Project::with_pipeline(PIPELINE);
    let done = project.runwright(&["history"]).expect_code(0);
    assert_eq!(
        (&*done.stdout, &*done.stderr),
        ("", "nothing has been run yet\n")
    );
    assert_eq!(runs(&project, &[]), Vec::<Value>::new());
    project.runwright(&["run"]).expect_code(0);
    project.write(".gitlab-ci.yml", "only: {script: ['exit 1']}");
    project.runwright(&["run"]).expect_code(1);
    assert_eq!(
        states(&project),
        [(2, "failed".to_owned()), (1, "success".to_owned())]
    );
    let table = project.runwright(&["history"]).expect_code(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("run  state    started"), "{table}");
    assert!(lines[1].starts_with("2    failed"), "{table}");
    assert!(lines[1].ends_with("main  1 failed"), "{table}");
    assert!(lines[2].contains("1 success"), "{table}");
    let first = &runs(&project, &["-n", "9"])[1];
    assert_eq!(first["ref"], "main");
    assert_eq!(first["jobs"][0]["name"], "good");
    assert_eq!(first["exit_code"], 0);
    assert_eq!(runs(&project, &["-n", "1"]).len(), 1);
    // Another project has its own history; `--all` shows both.
    let other = Project::with_pipeline("a: {script: ['true']}");
    let at = other.dir().display().to_string();
    project.runwright(&["run", "-C", &at]).expect_code(0);
    assert_eq!(runs(&project, &["-C", &at]).len(), 1);
    assert_eq!(runs(&project, &["--all"]).len(), 3);
    let all = project.runwright(&["history", "--all"]).expect_code(0);
    all.expect_text(&fs::canonicalize(&at).unwrap().display().to_string());
}

#[test]
fn unreadable_records_are_reported_and_hide_nothing_else() {
    let project = Project::with_pipeline("a: {script: [echo hello]}");
    for _ in 0..3 {
        project.runwright(&["run"]).expect_code(0);
    }
    let pipelines = fs::read_dir(project.home().join("projects")).unwrap();
    let pipelines = pipelines.flatten().next().unwrap().path().join("pipelines");
    fs::write(pipelines.join("2/run.json"), "{\"v\": 1,").unwrap();
    let journal = pipelines.join("1/journal.jsonl");
    let mut text = fs::read_to_string(&journal).unwrap();
    text.insert_str(0, "no journal\n\u{0}\u{1b}[31m\n");
    fs::write(&journal, text + "{\"type\":\"job_st").unwrap();
    let done = project.runwright(&["history"]).expect_code(3);
    assert_eq!(done.stdout.lines().count(), 3, "{}", done.stdout);
    done.expect_text("2/run.json")
        .expect_text("1/journal.jsonl: 2 lines are damaged");
    project.runwright(&["logs", "2", "a"]).expect_code(3);
    let done = project.runwright(&["logs", "1", "a"]).expect_code(0);
    assert!(done.stdout.contains("hello\n"), "{}", done.stdout);
    project
        .runwright(&["logs", "9", "a"])
        .expect_code(2)
        .expect_text("there is no run 9")
        .expect_text("`runwright history` shows the runs");
    // Without a line about its end, it need not have been killed.
    fs::remove_file(pipelines.join("2/run.json")).unwrap();
    fs::write(&journal, [0; 64]).unwrap();
    let done = project.runwright(&["history"]).expect_code(3);
    let last = done.stdout.lines().last().unwrap();
    assert!(last.starts_with("1    damaged"), "{done:?}");
    assert!(!done.all().contains("killed"), "{done:?}");
    done.expect_text("1/journal.jsonl: a line is damaged");
}

#[test]
fn state_is_readable_by_its_owner_only() {
    let project = Project::with_pipeline(PIPELINE);
    project.runwright(&["run"]).expect_code(0);
    let below = files_below(&project.home());
    for directory in below.iter().filter(|path| path.is_dir()) {
        let mode = fs::metadata(directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", directory.display());
    }
}

#[test]
fn logs_are_shown_without_colours_in_a_pipe() {
    let project = Project::with_pipeline(PIPELINE);
    project
        .runwright(&["logs", "good"])
        .expect_code(2)
        .expect_text("nothing has been run yet");
    project
        .command(&["run", "--secret", "TOKEN"])
        .env("TOKEN", "s3cret-value")
        .output()
        .unwrap();
    let log = project.runwright(&["logs", "good"]).expect_code(0).stdout;
    assert!(log.contains("all is good\n"), "{log}");
    assert!(log.contains("\ntoken [MASKED]\n"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
    let words = ["logs", "good", "--timestamps"];
    let stamped = project.runwright(&words).expect_code(0).stdout;
    assert!(stamped.contains("Z 01O token [MASKED]\n"), "{stamped}");
    assert_eq!(
        project
            .runwright(&["logs", "1", "good"])
            .expect_code(0)
            .stdout,
        log
    );
    let check = |words: &[&str], expect: &str| {
        let words = [&["logs"], words].concat();
        let done = project.runwright(&words).expect_code(2);
        assert_eq!(done.stdout, "");
        assert!(done.stderr.contains(expect), "{words:?}: {}", done.stderr);
    };
    check(&["god"], "did you mean `good`?");
    check(&["good", "--attempt", "2"], "has no attempt 2");
    check(&["good", "--attempt", "0"], "attempts are counted from 1");
    check(&["later"], "did not run, and is manual");
    check(&["x", "good"], "\"x\" is not the number of a run");
    check(&["\u{1b}[31mx"], "has no job");
    check(&[], "name a job");
    check(
        &["1"],
        "1 is a run; name its job too\nhelp: `runwright logs 1 good`; its jobs: ",
    );
    check(&["99"], "run 1 has no job \"99\"");
    project.runwright(&["run", "good"]).expect_code(0);
    let done = project.runwright(&["play"]).expect_code(2);
    assert!(
        done.stderr
            .contains("no job of run 2 waits to be started\nhelp: `runwright run --manual JOB`"),
        "{}",
        done.stderr
    );
    project
        .runwright(&["play", "1"])
        .expect_code(2)
        .expect_text("help: `runwright play 1 good`");
}

#[test]
fn job_names_may_contain_any_character() {
    let names = ["a b/c", "d\u{e9}ploy \u{1f680}", "tab\\there", "1"];
    let jobs = names.map(|name| format!("\"{name}\": {{script: ['echo \"<$CI_JOB_NAME>\"']}}\n"));
    let project = Project::with_pipeline(&jobs.concat());
    project.runwright(&["run"]).expect_code(0);
    for name in names {
        let name = name.replace("\\t", "\t");
        let log = project.runwright(&["logs", &name]).expect_code(0).stdout;
        assert!(log.contains(&format!("<{name}>")), "{log}");
    }
}

#[test]
fn each_attempt_has_its_log() {
    let flaky = "flaky: {retry: 1, script: ['echo try $CI_JOB_ID; exit 1']}";
    let project = Project::with_pipeline(flaky);
    project.runwright(&["run"]).expect_code(1);
    for attempt in ["1", "2"] {
        let words = ["logs", "flaky", "--attempt", attempt];
        let log = project.runwright(&words).expect_code(0).stdout;
        assert!(log.contains("try "), "{log}");
    }
    let words = ["logs", "flaky", "--attempt", "3"];
    project
        .runwright(&words)
        .expect_code(2)
        .expect_text("it has 2");
}

#[test]
fn log_is_followed_until_its_job_ends() {
    let project = Project::with_pipeline(WAITING);
    let mut run = start_waiting(&project);
    assert_eq!(states(&project), [(1, "running".to_owned())]);
    let followed = project.scratch().join("followed");
    let out = fs::File::create(&followed).unwrap();
    let mut reader = project
        .command(&["logs", "-f", "slow"])
        .stdout(out)
        .spawn()
        .unwrap();
    let read = || fs::read_to_string(&followed).unwrap();
    wait_until("what is there", || read().contains("it begins\n"));
    assert!(!read().contains("it ends\n"));
    // A closed reader ends `logs -f`, even while the job prints nothing.
    let mut gone = project
        .command(&["logs", "-f", "slow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 4];
    gone.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(gone.wait().unwrap().code(), Some(0));
    go(&project);
    assert_eq!(reader.wait().unwrap().code(), Some(0));
    assert!(read().contains("it ends\n"), "{}", read());
    assert_eq!(run.wait().unwrap().code(), Some(0));
    // The log of a past run is complete, so following it ends at once.
    let done = project.runwright(&["logs", "-f", "slow"]).expect_code(0);
    assert_eq!(done.stdout, read());
}

#[test]
fn killed_run_is_reported_once_and_its_partial_log_is_shown() {
    let project = Project::with_pipeline(WAITING);
    let mut run = start_waiting(&project);
    // Output is displayed before it is stored.
    let is_kept = |path: &PathBuf| {
        let is_log = path.extension().is_some_and(|it| it == "log");
        is_log && fs::read_to_string(path).is_ok_and(|log| log.contains("it begins\n"))
    };
    wait_until("what it says to be kept", || {
        files_below(&project.home()).iter().any(is_kept)
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let killed =
        "run 1 was killed while 1 of 2 jobs had finished; `runwright resume 1` continues it";
    let log = project.runwright(&["logs", "-f", "slow"]).expect_code(0);
    assert!(log.stdout.contains("it begins\n"), "{}", log.stdout);
    assert!(log.stderr.contains(killed), "{}", log.stderr);
    let done = project.runwright(&["history"]).expect_code(0);
    assert_eq!(done.stderr, "", "it was told");
    assert!(done.stdout.contains("1    killed"), "{}", done.stdout);
    let counts = "1 success, 1 interrupted or not started";
    assert!(done.stdout.contains(counts), "{}", done.stdout);
    let took = done.stdout.lines().nth(1).unwrap().split("ago").nth(1);
    assert!(
        took.unwrap().trim_start().starts_with("-  "),
        "{}",
        done.stdout
    );
}
