//! Resuming and controlling runs: `resume`, `retry`, `play` and `cancel`.

use crate::project::{Done, Project, wait_until};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Child;

/// A job that finishes at once, one that waits for the file `go`, and one that depends on it. Each records in a file
/// that it ran.
const PIPELINE: &str = "
stages: [build, test, deploy]
first: {stage: build, script: [echo first >> $OUT/ran]}
slow:
  stage: test
  script:
    - echo slow >> $OUT/ran
    - echo it begins
    - for i in $(seq 1200); do test -e $OUT/go && break; sleep 0.05; done
last: {stage: deploy, script: [echo last >> $OUT/ran]}
gate: {stage: deploy, when: manual, needs: [], script: [echo gate >> $OUT/ran, 'echo \"to <$TO>\"']}
";

fn out(project: &Project) -> String {
    format!("OUT={}", project.scratch().display())
}

fn run(project: &Project) -> Done {
    project.runwright(&["run", "--variable", &out(project)])
}

/// Starts a run and waits until its job `slow` runs.
fn start(project: &Project) -> Child {
    let child = project.start(&["run", "--variable", &out(project)]);
    project.wait_for("it begins");
    child
}

fn go(project: &Project) {
    fs::write(project.scratch().join("go"), "").unwrap();
}

/// Returns the jobs that ran, in order.
fn ran(project: &Project) -> Vec<String> {
    let text = fs::read_to_string(project.scratch().join("ran")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn kill(mut run: Child) {
    run.kill().unwrap();
    run.wait().unwrap();
}

fn state(project: &Project) -> String {
    let done = project.runwright(&["history", "--json"]).expect_code(0);
    let runs: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    runs[0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn earlier_failure_does_not_decide_the_exit_code_of_play() {
    let project = Project::with_pipeline(
        "
bad: {script: ['exit 3']}
good: {when: manual, script: [echo it works]}
worse: {when: manual, allow_failure: false, script: ['exit 4']}
stop:
  when: manual
  script: [echo it stops]
  environment: {name: review, action: stop}
deploy: {environment: {name: review, on_stop: stop}, script: [echo deployed]}
",
    );
    project.runwright(&["run"]).expect_code(1);
    let done = project.runwright(&["play", "good"]).expect_code(0);
    done.expect_text("it works").expect_text("1 failed");
    project.runwright(&["play", "worse"]).expect_code(1);
    let done = project.runwright(&["environments", "stop", "review"]);
    done.expect_code(0).expect_text("review is stopped");
    assert_eq!(state(&project), "failed");
}

#[test]
fn resume_reports_the_killed_run_without_suggesting_a_resume() {
    let project = Project::with_pipeline(PIPELINE);
    kill(start(&project));
    go(&project);
    let done = project.runwright(&["resume"]).expect_code(0);
    let message = "run 1 was killed while 1 of 4 jobs had finished\n";
    assert!(done.stderr.contains(message), "{}", done.stderr);
}

#[test]
fn killed_run_is_resumed_and_no_job_runs_twice() {
    let project = Project::with_pipeline(PIPELINE);
    kill(start(&project));
    assert_eq!(state(&project), "killed");
    go(&project);
    // By now another branch is checked out, and the working directory is another one.
    project.git(&["checkout", "-q", "-b", "other"]);
    let at = project.dir().display().to_string();
    let events = project.scratch().join("events");
    let mut resume = project.command(&["resume", "-C", &at, "--events", "events"]);
    let output = resume.current_dir(project.scratch()).output().unwrap();
    Done::from(output).expect_code(0).expect_text("last");
    assert_eq!(ran(&project), ["first", "slow", "slow", "last"]);
    assert!(
        fs::read_to_string(events)
            .unwrap()
            .contains("pipeline_done")
    );
    let done = project.runwright(&["history", "--json"]).expect_code(0);
    let runs: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(runs[0]["ref"], "main");
    assert_eq!(runs[0]["lives"], 2);
    assert_eq!(runs.as_array().unwrap().len(), 1);
    project
        .runwright(&["resume"])
        .expect_code(2)
        .expect_text("there is nothing to resume");
}

#[test]
fn retry_runs_failed_jobs_with_the_current_file() {
    let project = Project::with_pipeline(
        "good: {stage: build, script: [echo good >> $OUT/ran]}
bad: {stage: build, script: [echo bad >> $OUT/ran, exit 1]}
after: {stage: test, script: [echo after >> $OUT/ran]}\n",
    );
    project
        .runwright(&["retry"])
        .expect_code(2)
        .expect_text("nothing has been run yet");
    run(&project).expect_code(1);
    let text = fs::read_to_string(project.dir().join(".gitlab-ci.yml")).unwrap();
    project.write(".gitlab-ci.yml", &text.replace(", exit 1", ""));
    let done = project.runwright(&["retry", "1"]).expect_code(0);
    assert_eq!(ran(&project)[2..], ["bad", "after"], "{}", done.stdout);
    project
        .runwright(&["retry"])
        .expect_code(2)
        .expect_text("there is nothing to retry");
    project
        .runwright(&["retry", "7"])
        .expect_code(2)
        .expect_text("there is no run 7");
}

#[test]
fn named_jobs_run_again_whatever_their_result() {
    let project = Project::with_pipeline(
        "good: {stage: build, script: [echo good >> $OUT/ran]}
bad: {stage: build, script: [echo bad >> $OUT/ran, exit 1]}
-worse: {stage: build, script: [echo worse >> $OUT/ran, exit 1]}
after: {stage: test, script: [echo after >> $OUT/ran]}
hand: {stage: test, needs: [], when: manual, script: [echo hand >> $OUT/ran]}\n",
    );
    let done = run(&project).expect_code(1);
    assert!(
        done.stdout.contains("runwright run --no-needs --variable"),
        "{}",
        done.stdout
    );
    let again = |words: &[&str], code, expect: &[&str]| {
        let before = ran(&project).len();
        let done = project.runwright(words).expect_code(code);
        let mut ran = ran(&project).split_off(before);
        ran.sort();
        assert_eq!(ran, expect, "{words:?}: {}", done.stdout);
        done
    };
    again(&["retry", "good"], 1, &["good"]);
    again(
        &["retry", "1", "--", "-worse", "good"],
        1,
        &["good", "worse"],
    );
    let text = fs::read_to_string(project.dir().join(".gitlab-ci.yml")).unwrap();
    project.write(".gitlab-ci.yml", &text.replace(", exit 1", ""));
    again(&["retry", "bad"], 1, &["bad"]);
    again(&["retry", "--", "-worse"], 0, &["after", "worse"]);
    again(&["retry", "hand"], 2, &[]).expect_text("`runwright play 1 hand` starts it");
    again(&["retry", "god"], 2, &[]).expect_text("did you mean `good`?");
    again(&["retry", "nothing-like-it"], 2, &[]).expect_text("its jobs: good, bad, -worse");
    again(&["retry"], 2, &[]).expect_text("runs a job again, whatever its result");
}

#[test]
fn variable_of_a_played_job_reaches_no_other_job() {
    let project = Project::with_pipeline(
        "stages: [a, b]
gate: {stage: a, when: manual, allow_failure: false, script: ['echo \"gate <$TO>\"']}
next: {stage: b, script: ['echo \"next <$TO>\"']}\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    done.expect_text("manual: `runwright play gate` starts it");
    let words = ["play", "gate", "--variable", "TO=here"];
    let done = project.runwright(&words).expect_code(0);
    assert!(done.stdout.contains("gate <here>"), "{}", done.stdout);
    assert!(done.stdout.contains("next <>"), "{}", done.stdout);
}

#[test]
fn manual_job_is_played_during_its_run_and_after_it() {
    let project = Project::with_pipeline(PIPELINE);
    let mut running = start(&project);
    let words = ["play", "gate", "--variable", "TO=here"];
    let done = project.runwright(&words);
    let done = done.expect_code(0);
    assert_eq!(done.stdout, "run 1 starts gate\n");
    project
        .runwright(&["play", "gat"])
        .expect_code(2)
        .expect_text("gate");
    go(&project);
    assert_eq!(running.wait().unwrap().code(), Some(0));
    assert!(
        project.printed().contains("to <here>"),
        "{}",
        project.printed()
    );

    run(&project).expect_code(0);
    let words = ["play", "2", "gate", "--variable", "TO=there"];
    let done = project.runwright(&words).expect_code(0);
    assert!(done.stdout.contains("to <there>"), "{}", done.stdout);
    let again = ["first", "slow", "last", "gate"];
    assert_eq!(ran(&project)[4..], again, "nothing else ran");
    project
        .runwright(&["play", "2", "gate"])
        .expect_code(2)
        .expect_text("is success");
    project
        .runwright(&["play", "gate", "--variable", "1=x"])
        .expect_code(2)
        .expect_text("not a valid variable name");
}

#[test]
fn jobs_run_again_during_their_run() {
    let text = format!(
        "{PIPELINE}
bad:
  stage: build
  allow_failure: true
  script: ['echo bad >> $OUT/ran', 'test -e $OUT/mended', echo it is mended]
rescue: {{stage: build, needs: [bad], when: on_failure, script: [echo rescue >> $OUT/ran]}}
behind: {{stage: build, needs: [rescue], script: [echo behind >> $OUT/ran]}}
"
    );
    let project = Project::with_pipeline(&text);
    let mut running = start(&project);
    let say = |words: &[&str]| project.runwright(words);
    say(&["retry", "slow"])
        .expect_code(2)
        .expect_text("is running and cannot be run again");
    say(&["retry", "gate"])
        .expect_code(2)
        .expect_text("it can be started");
    fs::write(project.scratch().join("mended"), "").unwrap();
    let done = say(&["retry", "1", "bad", "first"]).expect_code(0);
    assert_eq!(
        done.stdout,
        "run 1 runs bad again\nrun 1 runs first again\n"
    );
    project.wait_for("Trying again, attempt 2: requested by the user");
    go(&project);
    assert_eq!(running.wait().unwrap().code(), Some(0));
    let count = |name: &str| ran(&project).iter().filter(|it| *it == name).count();
    assert_eq!(["first", "bad", "slow", "last"].map(count), [2, 2, 1, 1]);
    // Each attempt has its own log, and the last one is shown.
    let log = say(&["logs", "bad"]).expect_code(0);
    assert!(log.stdout.contains("\nit is mended\n"), "{}", log.stdout);
}

#[test]
fn run_is_canceled_from_another_terminal() {
    let project = Project::with_pipeline(PIPELINE);
    project
        .runwright(&["cancel"])
        .expect_code(2)
        .expect_text("no run is in progress here");
    let mut running = start(&project);
    project
        .runwright(&["cancel", "slwo"])
        .expect_code(2)
        .expect_text("slow");
    project
        .runwright(&["cancel", "slow", "--now"])
        .expect_code(2);
    let done = project.runwright(&["cancel"]).expect_code(0);
    assert_eq!(done.stdout, "run 1 is being canceled\n");
    assert_eq!(running.wait().unwrap().code(), Some(130));
    wait_until("the end", || state(&project) == "canceled");
    project
        .runwright(&["cancel", "1"])
        .expect_code(2)
        .expect_text("has ended: canceled");
    go(&project);
    project.runwright(&["resume"]).expect_code(0);
    assert_eq!(ran(&project), ["first", "slow", "slow", "last"]);

    fs::remove_file(project.scratch().join("go")).unwrap();
    let mut running = start(&project);
    let done = project.runwright(&["cancel", "2", "slow"]).expect_code(0);
    assert_eq!(done.stdout, "slow of run 2 is being canceled\n");
    assert_ne!(running.wait().unwrap().code(), Some(0));
    let mut running = start(&project);
    project.runwright(&["cancel", "--now"]).expect_code(0);
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(project.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn one_of_several_runs_must_be_named() {
    let project = Project::with_pipeline(PIPELINE);
    let mut first = start(&project);
    let mut second = start(&project);
    wait_until("both", || {
        let done = project.runwright(&["history", "--json"]);
        done.stdout.matches("\"state\": \"running\"").count() == 2
    });
    project
        .runwright(&["cancel"])
        .expect_code(2)
        .expect_text("several runs are in progress: 2, 1");
    project
        .runwright(&["resume"])
        .expect_code(2)
        .expect_text("is running");
    go(&project);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(second.wait().unwrap().code(), Some(0));
}

#[test]
fn command_with_a_path_that_is_not_utf_8_is_not_resumed() {
    let project = Project::with_pipeline("a: {script: ['echo \"V is $V\"', 'exit 1']}");
    let file = OsStr::from_bytes(b"v\xff.env");
    fs::write(project.dir().join(file), "V=ok\n").unwrap();
    // What the record would name instead.
    project.write("v\u{fffd}.env", "V=other\n");
    let mut command = project.command(&["run", "--variables-file"]);
    Done::from(command.arg(file).output().unwrap())
        .expect_code(1)
        .expect_text("V is ok");
    for arguments in [&["retry"][..], &["retry", "1", "a"]] {
        project
            .runwright(arguments)
            .expect_code(3)
            .expect_text("the command of run 1 has a word that is not UTF-8");
    }
}

#[test]
fn record_without_a_command_is_reported() {
    let project = Project::with_pipeline("a: {script: ['exit 1']}");
    project.runwright(&["run"]).expect_code(1);
    let projects = fs::read_dir(project.home().join("projects")).unwrap();
    let directory = projects
        .flatten()
        .next()
        .unwrap()
        .path()
        .join("pipelines/1");
    let record = directory.join("run.json");
    let text = fs::read_to_string(&record).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["command"]["words"] = serde_json::json!(["run", "--such-an-option"]);
    fs::write(&record, value.to_string()).unwrap();
    project
        .runwright(&["retry"])
        .expect_code(3)
        .expect_text("the recorded command of run 1 cannot be read");
    fs::write(&record, "{").unwrap();
    project
        .runwright(&["retry"])
        .expect_code(3)
        .expect_text("run.json");
}
