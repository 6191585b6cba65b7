//! Which jobs receive which artifacts, in whole pipelines.

use crate::project::{Project, files_below};
use std::fs;
use std::path::PathBuf;

const PIPELINE: &str = "\
stages: [build, test, last]
one:
  stage: build
  script: [mkdir out, echo one > out/one, echo one > out/same]
  artifacts: {paths: [out]}
two:
  stage: build
  script: [mkdir out, echo two > out/two, echo two > out/same]
  artifacts: {paths: [out]}
shard:
  stage: build
  parallel: {matrix: [{N: [a, b]}]}
  script: [mkdir out, echo $N > out/shard-$N]
  artifacts: {paths: [out]}
late:
  stage: test
  script: [mkdir -p out, echo late > out/late]
  artifacts: {paths: [out/late], exclude: [out/one]}
all: {stage: last, script: ['echo all: $(ls out) $(cat out/same)']}
nothing: {stage: last, dependencies: [], script: ['test ! -e out && echo nothing: none']}
named: {stage: last, dependencies: [one], script: ['echo named: $(ls out)']}
instances: {stage: last, dependencies: [shard], script: ['echo instances: $(ls out)']}
needed: {stage: last, needs: [two], script: ['echo needed: $(ls out)']}
without:
  stage: last
  needs: [{job: one, artifacts: false}]
  script: ['test ! -e out && echo without: none']
mixed:
  stage: last
  needs: [{job: one, artifacts: false}, two, {job: absent, optional: true}]
  script: ['echo mixed: $(ls out)']
both:
  stage: last
  needs: [one, two, late]
  dependencies: [late, one]
  script: ['echo both: $(ls out) $(cat out/same)']
one-of-matrix:
  stage: last
  needs: [{job: shard, parallel: {matrix: [{N: b}]}}]
  script: ['echo one-of-matrix: $(ls out)']
";

#[test]
fn job_receives_the_artifacts_it_requests_and_no_others() {
    let project = Project::with_pipeline(PIPELINE);
    for isolation in ["snapshot", "worktree"] {
        let done = project.runwright(&["run", "--isolation", isolation]);
        let out = done.expect_code(0).stdout;
        for line in [
            "all: late one same shard-a shard-b two two",
            "nothing: none",
            "named: one same",
            "instances: shard-a shard-b",
            "needed: same two",
            "without: none",
            "mixed: same two",
            "both: late one same one",
            "one-of-matrix: shard-b",
        ] {
            assert!(
                out.contains(&format!("| {line}\n")),
                "{isolation}: {line}\n{out}"
            );
        }
    }
    assert_eq!(project.leftovers(), [] as [PathBuf; 0]);
}

#[test]
fn artifacts_expire_and_equal_contents_are_stored_once() {
    let project = Project::with_pipeline(
        "brief:\n  script: [echo brief > brief]\n  artifacts: {paths: [brief], expire_in: 1 second}
build:\n  script: [echo same > file]\n  artifacts: {paths: [file], expose_as: the file}
never:\n  script: [echo same > file]\n  artifacts: {paths: [file], expire_in: never}\n",
    );
    let kept = || {
        let found = files_below(&project.home().join("content/objects"));
        found.iter().filter(|path| path.is_file()).count()
    };
    project.runwright(&["run"]).expect_code(0);
    project.runwright(&["run"]).expect_code(0);
    assert_eq!(kept(), 2);
    let lists = files_below(&project.home().join("projects"));
    let lists = lists
        .iter()
        .filter(|path| path.extension().is_some_and(|it| it == "json"));
    let texts = lists.filter_map(|path| fs::read_to_string(path).ok());
    let lines = texts.filter(|text| text.contains("\"expose_as\": \"the file\""));
    assert_eq!(lines.count(), 2);
    // An expiry of one second has passed for certain after two; the next sweep finds out.
    let due = std::time::Instant::now() + std::time::Duration::from_millis(1_200);
    while std::time::Instant::now() < due {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    fs::remove_file(project.home().join("content/swept")).unwrap();
    project.runwright(&["run", "build"]).expect_code(0);
    assert_eq!(kept(), 1);
}

#[test]
fn retried_run_misses_removed_artifacts() {
    let project = Project::with_pipeline(
        "stages: [build, test]
build: {stage: build, script: [echo x > file], artifacts: {paths: [file]}}
test: {stage: test, script: [cat file, test -n \"$GO\"]}\n",
    );
    project.runwright(&["run"]).expect_code(1);
    project.runwright(&["clean", "--artifacts"]).expect_code(0);
    let done = project.runwright(&["clean", "--artifacts", "--dry-run"]);
    assert_eq!(done.expect_code(0).stdout, "0 things could go, 0 B\n");
    project
        .runwright(&["retry"])
        .expect_code(1)
        .expect_text("this job depends on other jobs with expired/erased artifacts: build");
}
