//! `run --warn-changes`: tracked files that jobs change without declaring them.

use crate::project::{Done, Project};
use serde_json::Value;
use std::fs;

/// Returns a project with tracked files, including the pipeline.
fn project(pipeline: &str) -> Project {
    let project = Project::with_pipeline(pipeline);
    for name in [
        "a.txt",
        "b.txt",
        "c.txt",
        "docs/made.md",
        "src/one",
        "src/two",
    ] {
        project.write(name, "as it was\n");
    }
    project.commit();
    project
}

/// Returns the warning in a job's log, without its prefix.
fn warning(done: &Done) -> Option<&str> {
    let lines = done.stdout.lines();
    let words = lines.filter_map(|line| Some(line.split_once("WARNING: ")?.1));
    let mut words = words.filter(|text| text.contains("tracked"));
    words.next()
}

const ISOLATION_OPTIONS: [&[&str]; 4] = [
    &["--snapshot", "copy"],
    &["--snapshot", "auto"],
    &["--isolation", "worktree"],
    &["--in-place"],
];

/// Runs a job with this script in every kind of isolation, and compares the warning.
fn check(script: &str, expect: Option<&str>) {
    for isolation in ISOLATION_OPTIONS {
        let project = project(&format!("job:\n  script:\n    - |\n      {script}\n"));
        let words = [&["run", "--warn-changes"], isolation].concat();
        let done = project.runwright(&words).expect_code(0);
        assert_eq!(warning(&done), expect, "{isolation:?} {}", done.all());
    }
}

#[test]
fn job_that_changes_a_tracked_file_is_reported_in_every_isolation() {
    check(
        "echo more >> a.txt; echo new > untracked; rm c.txt",
        Some("the job changed 2 tracked files that it did not declare: a.txt, c.txt"),
    );
    check(
        "chmod +x a.txt; rm b.txt; mkdir b.txt; ln -sf a.txt c.txt",
        Some("the job changed 3 tracked files that it did not declare: a.txt, b.txt, c.txt"),
    );
    // A change of equal size, which is then committed.
    check(
        "echo As it was > a.txt; git -c user.name=x -c user.email=x@y commit -qam x",
        Some("the job changed 1 tracked file that it did not declare: a.txt"),
    );
    // Touched, rewritten with the same content, and replaced by an equal file.
    check(
        "touch a.txt; echo 'as it was' > b.txt; cp c.txt d; mv d c.txt; chmod g+w src/one",
        None,
    );
}

#[test]
fn no_warning_unless_enabled() {
    let project = project("job: {script: [echo more >> a.txt]}");
    let done = project.runwright(&["run"]).expect_code(0);
    assert_eq!(warning(&done), None);
    assert!(
        !done.stdout.contains("changed tracked files"),
        "{}",
        done.stdout
    );
    // A project setting enables the warning, and an option disables it.
    project.write(".runwright.toml", "[run]\nwarn-changes = true\n");
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(warning(&done).is_some(), "{}", done.all());
    let done = project
        .runwright(&["run", "--warn-changes=false"])
        .expect_code(0);
    assert_eq!(warning(&done), None);
    let done = project
        .command(&["run"])
        .env("RUNWRIGHT_WARN_CHANGES", "false")
        .output();
    assert_eq!(warning(&done.unwrap().into()), None);
}

#[test]
fn declared_changes_are_not_reported() {
    let pipeline = "
build:
  variables: {OUT: docs}
  script: ['echo x > docs/made.md; echo A=1 > a.txt; echo x > src/one; echo x > src/two; echo x > b.txt']
  after_script: [echo x > c.txt]
  artifacts: {paths: [$OUT/*.md], reports: {dotenv: a.txt}, when: on_failure}
  cache: {key: k, paths: [src/one]}
";
    let project = project(pipeline);
    project.write(
        ".runwright.toml",
        "[run]\nwarn-changes = true\n[jobs.\"bui*\"]\nmay-change = ['src/t*']\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    let expect = "the job changed 2 tracked files that it did not declare: b.txt, c.txt";
    assert_eq!(warning(&done), Some(expect), "{}", done.all());
}

#[test]
fn summary_events_and_report_list_the_changes_and_the_exit_code_is_unaffected() {
    let project = project("");
    project.write(
        ".gitlab-ci.yml",
        "fmt: {script: ['for f in a b c src/one src/two docs/made; do test -e $f && echo x > $f; done; \
         for f in *.txt docs/*.md; do echo x > $f; done']}\nclean: {script: ['true']}\n\
         fails: {script: [echo x > a.txt; exit 1], allow_failure: true}\n",
    );
    let path = |name: &str| project.scratch().join(name).to_str().unwrap().to_owned();
    let (report, events) = (path("r.json"), path("e.jsonl"));
    let words = [
        "run",
        "--warn-changes",
        "--report",
        &report,
        "--events",
        &events,
    ];
    let done = project.runwright(&words).expect_code(0);
    let lines: Vec<&str> = done
        .stdout
        .lines()
        .filter(|line| line.starts_with("changed tracked files"))
        .collect();
    assert_eq!(
        lines,
        [
            "changed tracked files: fmt: a.txt, b.txt, c.txt, docs/made.md, src/one and 1 more",
            "changed tracked files: fails: a.txt",
        ]
    );
    let report_value: Value = serde_json::from_str(&fs::read_to_string(&report).unwrap()).unwrap();
    assert_eq!(report_value["jobs"][0]["changed"]["count"], 6);
    assert_eq!(report_value["jobs"][1]["changed"], Value::Null);
    let events = fs::read_to_string(&events).unwrap();
    // The other job may end first.
    let of_fmt = |line: &&str| line.contains(r#""changed":{"#) && line.contains(r#""job":"fmt""#);
    let event = events.lines().find(of_fmt);
    let event: Value = serde_json::from_str(event.unwrap()).unwrap();
    assert_eq!(event["type"], "job_finished");
    assert_eq!(event["changed"]["certain"], true);
    assert_eq!(event["changed"]["first"].as_array().unwrap().len(), 6);
}

#[test]
fn in_place_earlier_changes_do_not_count() {
    let project = project("job: {script: [touch a.txt, echo mine > b.txt]}");
    project.write("a.txt", "dirty as can be");
    project.write("b.txt", "dirty");
    fs::remove_file(project.dir().join("c.txt")).unwrap();
    for isolation in [&["--in-place"][..], &["--snapshot", "copy"]] {
        let words = [&["run", "--warn-changes"], isolation].concat();
        let done = project.runwright(&words).expect_code(0);
        let expect = "the job changed 1 tracked file that it did not declare: b.txt";
        assert_eq!(warning(&done), Some(expect), "{isolation:?} {}", done.all());
        project.write("b.txt", "dirty");
    }
    // Restoring the committed content is a change too.
    project.write(".gitlab-ci.yml", "job: {script: [git checkout -q a.txt]}");
    project.write("a.txt", "as it Was\n");
    let words = ["run", "--warn-changes", "--snapshot", "copy"];
    let done = project.runwright(&words).expect_code(0);
    let expect = "the job changed 1 tracked file that it did not declare: a.txt";
    assert_eq!(warning(&done), Some(expect), "{}", done.all());
}

#[test]
fn changes_of_parallel_jobs_in_one_tree_are_not_attributed() {
    let wait = "for i in $(seq 600); do test -e $OTHER && break; sleep 0.05; done";
    let project = project(&format!(
        "one: {{variables: {{OTHER: two.on}}, script: [touch one.on, '{wait}', echo x > a.txt, sleep 0.3]}}\n\
         two: {{variables: {{OTHER: one.on}}, script: [touch two.on, '{wait}', sleep 0.3]}}\n"
    ));
    let words = ["run", "--warn-changes", "--in-place", "--concurrency", "2"];
    let done = project.runwright(&words).expect_code(0);
    let text = "(it, or a job that ran at the same time)";
    assert!(done.stdout.contains(text), "{}", done.stdout);
}

#[test]
fn harmful_names_are_escaped() {
    let project = project("job: {script: ['for f in bad*; do echo x > \"$f\"; done']}");
    project.write("bad\nname", "x\n\n");
    project.write("bad\x1b[2J", "x\n\n");
    project.commit();
    let done = project.runwright(&["run", "--warn-changes"]).expect_code(0);
    assert!(
        done.stdout.contains("changed 2 tracked files"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("\x1b[2J"), "{:?}", done.stdout);
    let line = done
        .stdout
        .lines()
        .find(|line| line.starts_with("changed tracked files"));
    assert!(line.unwrap().contains("bad name"), "{}", done.stdout);
}

#[test]
fn secrets_in_names_are_in_no_output() {
    let project = project("job: {script: ['for f in key-*; do echo x > \"$f\"; done']}");
    project.write("key-hunter2hunter2", "x\n\n");
    project.commit();
    let path = |name: &str| project.scratch().join(name).to_str().unwrap().to_owned();
    let (report, events) = (path("r.json"), path("e.jsonl"));
    let words = [
        "run",
        "--warn-changes",
        "--secret",
        "TOKEN",
        "--report",
        &report,
        "--events",
        &events,
    ];
    let mut command = project.command(&words);
    let done = command.env("TOKEN", "hunter2hunter2").output().unwrap();
    let done = Done::from(done).expect_code(0);
    for text in [
        done.all(),
        fs::read_to_string(&report).unwrap(),
        fs::read_to_string(&events).unwrap(),
    ] {
        assert!(text.contains("key-[MASKED]"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn files_that_git_ignores_by_flag_are_compared_with_their_earlier_content() {
    let project = project("job: {script: [touch a.txt, touch b.txt, echo x > c.txt]}");
    project.git(&["update-index", "--assume-unchanged", "a.txt"]);
    project.git(&["update-index", "--skip-worktree", "b.txt"]);
    for name in ["a.txt", "b.txt"] {
        project.write(name, "as it WAS\n");
    }
    let done = project
        .runwright(&["run", "--warn-changes", "--in-place"])
        .expect_code(0);
    let expect = "the job changed 1 tracked file that it did not declare: c.txt";
    assert_eq!(warning(&done), Some(expect), "{}", done.all());
}

#[test]
fn bitrab_settings_enable_it_in_bitrab_dialect() {
    let project = project("job: {script: [echo x > a.txt; echo x > src/one]}");
    project.write(
        "pyproject.toml",
        "[tool.bitrab]\nwarn_on_mutation = true\nmutation.whitelist = ['*.txt']\n",
    );
    project.commit();
    let done = project
        .runwright(&["run", "--dialect", "bitrab"])
        .expect_code(0);
    let expect = "the job changed 1 tracked file that it did not declare: src/one";
    assert_eq!(warning(&done), Some(expect), "{}", done.all());
    let done = project.runwright(&["run"]).expect_code(0);
    assert_eq!(warning(&done), None, "{}", done.all());
}
