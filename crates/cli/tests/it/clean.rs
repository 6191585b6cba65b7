//! Removing what runs left behind.

use crate::project::{Done, Project};
use std::fs;
use std::process::Child;

const PIPELINE: &str = "
build:
  script:
    - head -c 3000 /dev/urandom > file
    - 'if test -n \"$GO\"; then echo it begins; for i in $(seq 1200); do test -e $GO && break; sleep 0.05; done; fi'
  artifacts: {paths: [file]}
";

fn clean(project: &Project, options: &[&str]) -> Done {
    project.runwright(&[&["clean"], options].concat())
}

fn runs(project: &Project) -> usize {
    let done = project.runwright(&["history", "--json"]).expect_code(0);
    let runs: Vec<serde_json::Value> = serde_json::from_str(&done.stdout).unwrap();
    runs.len()
}

fn objects(project: &Project) -> usize {
    let all = crate::project::files_below(&project.home().join("content/objects"));
    all.iter().filter(|path| path.is_file()).count()
}

fn start(project: &Project) -> Child {
    let go = format!("GO={}", project.scratch().join("go").display());
    let child = project.start(&["run", "--variable", &go]);
    project.wait_for("it begins");
    child
}

#[test]
fn runs_and_their_artifacts_are_removed_on_request() {
    let project = Project::with_pipeline(PIPELINE);
    let done = clean(&project, &[]).expect_code(0);
    assert_eq!(done.stdout, "0 things could go, 0 B\n");
    project.runwright(&["run"]).expect_code(0);
    project.runwright(&["run"]).expect_code(0);
    for looks in [&[][..], &["--all", "--dry-run"]] {
        let done = clean(&project, looks).expect_code(0);
        assert!(done.stdout.contains("would go  run 1  "), "{}", done.stdout);
        assert!(
            done.stdout.contains("2 things could go, "),
            "{}",
            done.stdout
        );
    }
    assert_eq!((runs(&project), objects(&project)), (2, 2));
    let done = clean(&project, &["--runs", "--older-than", "1 day"]);
    assert_eq!(done.expect_code(0).stdout, "0 things removed, 0 B\n");
    clean(&project, &["--runs", "--older-than", "soon"])
        .expect_code(2)
        .expect_text("expected a duration such as");

    let done = clean(&project, &["--artifacts"]).expect_code(0);
    assert!(
        done.stdout.contains("removed  artifacts of run 2  3.0 kB"),
        "{}",
        done.stdout
    );
    assert_eq!((runs(&project), objects(&project)), (2, 0));
    project.runwright(&["logs", "build"]).expect_code(0);
    clean(&project, &["--runs"]).expect_code(0);
    assert_eq!(runs(&project), 0);
}

#[test]
fn caches_of_the_project_are_removed() {
    let pipeline = "a: {script: [mkdir c, echo x > c/x], cache: {key: k-1, paths: [c]}}";
    let (project, other) = (
        Project::with_pipeline(pipeline),
        Project::with_pipeline(pipeline),
    );
    project.runwright(&["run"]).expect_code(0);
    let other = other.dir().display().to_string();
    project.runwright(&["run", "-C", &other]).expect_code(0);
    let done = clean(&project, &["--cache"]).expect_code(0).stdout;
    assert!(done.starts_with("removed  cache k-1"), "{done}");
    assert!(done.contains("1 thing removed"), "{done}");
    let done = clean(&project, &["--cache", "-C", &other, "--dry-run"]);
    let done = done.expect_code(0).stdout;
    assert!(done.contains("1 thing could go"), "{done}");
}

#[test]
fn objects_of_a_running_run_are_kept() {
    let project = Project::with_pipeline(PIPELINE);
    project.runwright(&["run"]).expect_code(0);
    let mut living = start(&project);
    let done = clean(&project, &["--all"]).expect_code(0).stdout;
    assert!(done.contains("in use  run 2"), "{done}");
    assert!(done.contains("removed  run 1"), "{done}");
    fs::write(project.scratch().join("go"), "").unwrap();
    assert_eq!(living.wait().unwrap().code(), Some(0));
    project
        .runwright(&["artifacts", "build", "-o", "got"])
        .expect_code(0);
    assert_eq!(
        fs::read(project.dir().join("got/file")).unwrap().len(),
        3000
    );
}
