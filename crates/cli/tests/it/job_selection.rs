//! Selecting jobs by glob and by the variables of parallel instances, leaving jobs out, and rerunning failed jobs.

use crate::project::{Done, Project};

const FILE: &str = "
stages: [build, test, deploy]
compile: {stage: build, script: [echo compile]}
lint: {stage: build, script: [echo lint]}
unit:
  stage: test
  script: ['echo on $OS $ARCH']
  parallel: {matrix: [{OS: [debian, alpine], ARCH: [arm, amd64]}]}
docs: {stage: test, needs: [lint, compile], script: [echo docs]}
ship: {stage: deploy, script: [echo ship], when: manual}
";

/// Returns the jobs that ran, ordered by name.
fn ran(done: &Done) -> Vec<String> {
    let events = done.stdout.lines().map(|line| {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("{line}"))
    });
    let ended = events.filter(|event| event["type"] == "job_finished");
    let mut names: Vec<String> = ended
        .map(|event| event["job"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

fn run(project: &Project, words: &[&str]) -> Done {
    let words = [&["run", "--progress", "json"], words].concat();
    project.runwright(&words)
}

#[test]
fn jobs_are_selected_by_glob_and_by_matrix_variables() {
    let project = Project::with_pipeline(FILE);
    let check = |words: &[&str], expect: &[&str]| {
        let done = run(&project, words).expect_code(0);
        assert_eq!(ran(&done), expect, "{words:?}");
    };
    check(&["l*", "{compile,x}"], &["compile", "lint"]);
    check(
        &["unit[OS=debian,ARCH=a*64]", "--no-needs"],
        &["unit: [debian, amd64]"],
    );
    check(
        &["--jobs", "unit[OS=alpine,ARCH=arm],lint", "--no-needs"],
        &["lint", "unit: [alpine, arm]"],
    );
    check(&["--skip", "unit,lint", "docs"], &["compile", "docs"]);
    check(
        &["--skip", "unit[ARCH=arm]", "--skip", "{lint,docs}"],
        &["compile", "unit: [alpine, amd64]", "unit: [debian, amd64]"],
    );
    // Unlike its name, a glob that matches a manual job does not start it.
    check(&["sh?p", "--no-needs"], &[]);
    check(&["ship", "--no-needs"], &["ship"]);
    check(&["docs", "--only-needs"], &["compile", "lint"]);
    check(&["docs", "lint", "--only-needs"], &["compile"]);
    check(&["lint", "--only-needs"], &[]);
}

#[test]
fn jobs_that_do_not_wait_for_a_skipped_job_are_noted() {
    let project = Project::with_pipeline(FILE);
    let done = project.runwright(&["run", "--dry-run", "docs", "--skip", "lint"]);
    let done = done.expect_code(0);
    insta::assert_snapshot!(done.all(), @r"
    stage build
      compile
        $ echo compile
    stage test
      docs
        $ echo docs
    note: lint is skipped: docs does not wait for it
    ");
    let done = project
        .runwright(&["plan", "docs", "--skip", "lint"])
        .expect_code(0);
    done.expect_text("branch main (push): 2 of 8 jobs")
        .expect_text("note: lint is skipped");
}

#[test]
fn unmatched_selector_is_refused_with_the_available_jobs() {
    let project = Project::with_pipeline(FILE);
    let check = |words: &[&str], expect: &str| {
        let done = project.runwright(words).expect_code(2);
        assert!(done.stderr.contains(expect), "{words:?}: {}", done.stderr);
    };
    check(&["run", "lnit"], "did you mean `lint`?");
    check(&["run", "zzz*"], "no job matches `zzz*`");
    check(&["run", "--skip", "lnit"], "did you mean `lint`?");
    check(&["plan", "lnit"], "did you mean `lint`?");
    let known = "the values are OS=debian|alpine, ARCH=arm|amd64";
    check(&["run", "unit[OS=debain]"], known);
    check(&["explain", "unit[OS=debain]"], "did you mean `debian`?");
    check(
        &["list", "unit[OSS=debian]"],
        "the instances of `unit` have no variable `OSS`; did you mean `OS`?",
    );
    check(&["list", "lint[OS=debian]"], "`lint` has no instances");
}

#[test]
fn other_commands_accept_the_same_selectors() {
    let project = Project::with_pipeline(FILE);
    let list = |words: &[&str]| {
        let words = [&["list", "--json"], words].concat();
        let done = project.runwright(&words).expect_code(0);
        let jobs: Vec<serde_json::Value> = serde_json::from_str(&done.stdout).unwrap();
        let names = jobs
            .iter()
            .map(|job| job["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(list(&["l*"]), ["lint"]);
    assert_eq!(list(&["--skip", "unit,docs,ship"]), ["compile", "lint"]);
    let one = project.runwright(&["variables", "unit[OS=alpine,ARCH=arm]"]);
    one.expect_code(0).expect_text("OS = alpine");
    let explained = project.runwright(&["explain", "d?cs"]).expect_code(0);
    explained.expect_text("docs");
}

#[test]
fn jobs_of_a_past_run_are_selected_the_same_way() {
    let project = Project::with_pipeline(FILE);
    run(&project, &["unit", "--no-needs"]).expect_code(0);
    let logs = |words: &[&str]| project.runwright(&[&["logs"], words].concat());
    let one = logs(&["unit[OS=alpine,ARCH=arm]"]).expect_code(0);
    assert!(one.stdout.contains("on alpine arm"), "{}", one.stdout);
    assert!(!one.stdout.contains("==>"), "{}", one.stdout);
    let two = logs(&["1", "unit[OS=alpine]"]).expect_code(0);
    for text in [
        "==> unit: [alpine, arm] <==\n",
        "on alpine arm",
        "==> unit: [alpine, amd64] <==\n",
        "on alpine amd64",
    ] {
        assert!(two.stdout.contains(text), "no {text:?} in {}", two.stdout);
    }
    logs(&["unit", "-f"])
        .expect_code(2)
        .expect_text("matches 4 jobs, and only one can be followed");
    logs(&["unit[OS=x]"])
        .expect_code(2)
        .expect_text("no instance of `unit` has OS=x");
    let again = project.runwright(&["retry", "--progress", "json", "unit[ARCH=arm]"]);
    assert_eq!(
        ran(&again.expect_code(0)),
        ["unit: [alpine, arm]", "unit: [debian, arm]"]
    );
}

#[test]
fn only_failed_jobs_run_again() {
    const FAILING: &str = "
stages: [build, test, deploy]
good: {stage: build, script: [echo good]}
bad: {stage: build, script: [test -e mended]}
after: {stage: test, script: [echo after]}
beside: {stage: test, needs: [good], script: [echo beside]}
ship: {stage: deploy, when: manual, script: [echo ship]}
";
    let project = Project::with_pipeline(FAILING);
    project.runwright(&["run", "--only-failed"]).expect_code(2);
    assert_eq!(
        ran(&run(&project, &[]).expect_code(1)),
        ["bad", "beside", "good"]
    );
    // Names given as well add to the failed jobs.
    let both = run(&project, &["--only-failed", "aft*", "--no-needs"]).expect_code(0);
    assert_eq!(ran(&both), ["after"]);
    run(&project, &[]).expect_code(1);
    // A run without jobs does not hide the failures of the run before it.
    let none = run(&project, &["--only-failed", "good"]).expect_code(0);
    assert!(ran(&none).is_empty(), "{none:?}");
    project.write("mended", "");
    let again = run(&project, &["--only-failed"]).expect_code(0);
    assert_eq!(ran(&again), ["after", "bad", "good"]);
    let none = project.runwright(&["run", "--only-failed"]).expect_code(0);
    assert_eq!(none.stderr, "nothing failed in run 4\n");
}

#[test]
fn run_of_failed_jobs_resumes_with_the_same_jobs() {
    let project = Project::with_pipeline(
        "a: {script: [test -e mended]}\nb: {script: [echo b]}\nc: {needs: [a], script: [echo c]}\n",
    );
    run(&project, &[]).expect_code(1);
    assert_eq!(
        ran(&run(&project, &["--only-failed"]).expect_code(1)),
        ["a"]
    );
    project.write("mended", "");
    let again = project.runwright(&["retry", "--progress", "json"]);
    assert_eq!(ran(&again.expect_code(0)), ["a", "c"]);
}
