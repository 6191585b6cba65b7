//! Listing, showing and extracting the artifacts of jobs.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the binary from outside"
)]

use crate::project::{Done, Project};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const PIPELINE: &str = "
build:
  script:
    - mkdir -p out/empty; printf hello > out/hello; printf '#!/bin/sh' > out/tool; chmod 755 out/tool
    - printf 1234567 > 'out/a b \u{1f680}'; ln -s hello out/link
    - printf A=1 > a.env
  artifacts: {name: built, paths: [out], expire_in: 2 days, reports: {dotenv: a.env}}
tests:
  script: [printf x > one.xml, printf A=1 > a.env]
  artifacts: {when: always, reports: {dotenv: a.env, terraform: one.xml}}
nothing: {script: ['true']}
";

fn project() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    project.runwright(&["run"]).expect_code(0);
    project
}

fn artifacts(project: &Project, words: &[&str]) -> Done {
    project.runwright(&[&["artifacts"], words].concat())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn artifacts_are_listed() {
    let project = project();
    let table = artifacts(&project, &[]).expect_code(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0], "job    type       name       files  size  expires",
        "{table}"
    );
    assert!(
        lines[1].starts_with("build  archive    built      "),
        "{table}"
    );
    assert!(lines[1].ends_with("in 1d"), "{table}");
    assert_eq!(lines.len(), 5, "{table}");
    let done = artifacts(&project, &["1", "build", "--type", "dotenv", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&done.expect_code(0).stdout).unwrap();
    assert_eq!(json[0]["job"], "build");
    assert_eq!(json[0]["artifact_type"], "dotenv");
    assert_eq!(json[0]["bytes"], 3);
    assert_eq!(json.as_array().unwrap().len(), 1);
    let done = artifacts(&project, &["nothing"]).expect_code(0);
    assert_eq!(done.stderr, "there are no artifacts by nothing in run 1\n");
    artifacts(&project, &["biuld"])
        .expect_code(2)
        .expect_text("did you mean `build`?");
    artifacts(&project, &["2", "build"])
        .expect_code(2)
        .expect_text("there is no run 2");
    let empty = Project::with_pipeline(PIPELINE);
    artifacts(&empty, &[])
        .expect_code(2)
        .expect_text("nothing has been run yet");
}

#[test]
fn files_are_extracted_into_a_directory_and_never_overwrite_others() {
    let project = project();
    let out = project.dir().join("got/here");
    artifacts(&project, &["build", "-o", "got/here"])
        .expect_code(0)
        .expect_text("wrote ");
    assert_eq!(read(&out.join("out/hello")), "hello");
    assert_eq!(read(&out.join("out/a b \u{1f680}")), "1234567");
    assert_eq!(
        fs::read_link(out.join("out/link")).unwrap(),
        Path::new("hello")
    );
    assert!(out.join("out/empty").is_dir());

    fs::write(out.join("out/hello"), "mine").unwrap();
    artifacts(&project, &["build", "-o", "got/here"])
        .expect_code(2)
        .expect_text("out/");
    assert_eq!(read(&out.join("out/hello")), "mine");
    artifacts(&project, &["build", "-o", "got/here", "--force"]).expect_code(0);
    assert_eq!(read(&out.join("out/hello")), "hello");
    // A change to the extracted file does not reach the stored one.
    fs::write(out.join("out/hello"), "other").unwrap();
    artifacts(&project, &["build", "-o", "again"]).expect_code(0);
    assert_eq!(read(&project.dir().join("again/out/hello")), "hello");

    let elsewhere = project.scratch().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir(project.dir().join("linked")).unwrap();
    symlink(&elsewhere, project.dir().join("linked/out")).unwrap();
    symlink(&elsewhere, project.dir().join("link")).unwrap();
    for target in ["linked", "link"] {
        artifacts(&project, &["build", "-o", target, "--force"])
            .expect_code(2)
            .expect_text("is a symbolic link");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn pattern_extracts_the_files_of_all_jobs_that_it_matches() {
    let project = Project::with_pipeline(
        "
pack:
  parallel: {matrix: [{OS: [debian, alpine]}]}
  script: [mkdir out, 'echo $OS > out/$OS', 'echo $OS > same']
  artifacts: {paths: [out, $ALSO]}
none: {script: ['true']}
",
    );
    project.runwright(&["run"]).expect_code(0);
    let done = artifacts(&project, &["pack", "-o", "got"]).expect_code(0);
    for os in ["debian", "alpine"] {
        assert_eq!(read(&project.dir().join("got/out").join(os)).trim(), os);
        let wrote = format!("wrote 1 file of pack: [{os}], ");
        assert!(done.stderr.contains(&wrote), "{done:?}");
    }
    artifacts(&project, &["pa*", "-o", "got.zip"])
        .expect_code(2)
        .expect_text("an archive has the files of one job, not of 2")
        .expect_text("one of these: pack: [debian], pack: [alpine]");
    // A file of several jobs is that of the last one, if the user agrees.
    project
        .runwright(&["run", "--variable", "ALSO=same"])
        .expect_code(0);
    artifacts(&project, &["pack", "-o", "both"])
        .expect_code(2)
        .expect_text("both/same exists already");
    artifacts(&project, &["pack", "-o", "both", "--force"]).expect_code(0);
    assert_eq!(read(&project.dir().join("both/same")).trim(), "alpine");
}

#[test]
fn archive_is_readable_by_python() {
    let project = project();
    let zip = project.dir().join("built.zip");
    artifacts(&project, &["build", "--output", "built.zip"]).expect_code(0);
    // The file gets the permissions of any file the user creates.
    fs::write(project.dir().join("usual"), "").unwrap();
    let rights = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(rights(&zip), rights(&project.dir().join("usual")));
    let script = "import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
for name in sorted(z.namelist()): print(name, len(z.read(name)))";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&zip)
        .env("PYTHONIOENCODING", "utf-8")
        .output()
        .unwrap();
    let names = Done::from(output).expect_code(0).stdout;
    assert!(names.contains("out/a b \u{1f680} 7\n"), "{names}");
    assert!(names.contains("out/hello 5\n"), "{names}");
    artifacts(&project, &["build", "--output", "built.zip"])
        .expect_code(2)
        .expect_text("--force overwrites it");
    artifacts(&project, &["build", "--output", "built.zip", "--force"]).expect_code(0);
    symlink("built.zip", project.dir().join("link.zip")).unwrap();
    artifacts(&project, &["build", "--output", "link.zip", "--force"]).expect_code(2);
    artifacts(&project, &["build", "--output", "no/such/place.zip"]).expect_code(3);
    let left = fs::read_dir(project.home().join("exports"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
}

#[test]
fn ambiguous_artifacts_must_be_selected() {
    let project = project();
    artifacts(&project, &["--output", "x"])
        .expect_code(2)
        .expect_text("--output needs a job");
    artifacts(&project, &["tests", "--output", "x"])
        .expect_code(2)
        .expect_text("choose with --type: ");
    artifacts(&project, &["tests", "--type", "terraform", "--output", "x"]).expect_code(0);
    assert_eq!(read(&project.dir().join("x/one.xml")), "x");
    artifacts(&project, &["nothing", "--output", "y"])
        .expect_code(2)
        .expect_text("left nothing in run 1");
    artifacts(&project, &["--type", "foo"])
        .expect_code(2)
        .expect_text("possible values: archive, junit, codequality");
    artifacts(&project, &["build", "--output", "z.tar.gz"])
        .expect_code(2)
        .expect_text("error: z.tar.gz: archives are written as zip only\nhelp: name a FILE.zip");
    assert!(!project.dir().join("z.tar.gz").exists());
    artifacts(&project, &["build", "--type", "junit", "--output", "y"])
        .expect_code(2)
        .expect_text("left no \"junit\" in run 1");
    assert!(!project.dir().join("y").exists());
}

#[test]
fn names_a_zip_archive_cannot_hold_are_reported() {
    let project = Project::with_pipeline(
        "odd: {script: ['echo x > \"a\\\\b\"; echo y > c'], artifacts: {paths: ['a*', c]}}\n",
    );
    project.runwright(&["run"]).expect_code(0);
    let done = artifacts(&project, &["odd", "-o", "odd.zip"]).expect_code(0);
    let expect = "warning: a\\b has a backslash in its name; it is left out";
    assert!(done.stderr.contains(expect), "{}", done.stderr);
    assert!(done.stderr.contains("wrote 1 file, "), "{}", done.stderr);
    assert!(
        done.stderr.ends_with("; 1 file left out\n"),
        "{}",
        done.stderr
    );
}

#[test]
fn artifacts_are_copied_to_the_working_tree_on_request() {
    let pipeline = format!(
        "{PIPELINE}# @NoArtifactsToSource\nown:\n  script: [printf x > own.txt]\n  artifacts: {{paths: [own.txt]}}\n"
    );
    let project = Project::with_pipeline(&pipeline);
    let there = |path: &str| project.dir().join(path).exists();
    project.runwright(&["run"]).expect_code(0);
    assert!(!there("out"));
    project.write("out/hello", "mine");
    let done = project.runwright(&["run", "--artifacts-to-source"]);
    done.expect_code(0)
        .expect_text("copied to the working tree: the artifacts of build\n");
    assert_eq!(read(&project.dir().join("out/hello")), "hello");
    assert!(!there("own.txt") && !there("a.env"));
    // The others are copied all the same.
    project.write(
        ".gitlab-ci.yml",
        "evil: {script: [mkdir -p .git/hooks, echo x > .git/hooks/pre-push], artifacts: {paths: [.git/hooks/]}}\n\
         good: {script: [echo x > good.txt], artifacts: {paths: [good.txt]}}\n\
         file: {script: [echo x >> .gitlab-ci.yml], artifacts: {paths: [.gitlab-ci.yml]}}\n\
         settings: {script: [echo x >> .runwright.toml], artifacts: {paths: [.runwright.toml]}}\n\
         same: {script: [echo x > same.txt], artifacts: {paths: [same.txt, .gitlab-ci.yml]}}\n",
    );
    let pipeline = read(&project.dir().join(".gitlab-ci.yml"));
    let done = project.runwright(&["run", "--artifacts-to-source"]);
    let done = done
        .expect_code(0)
        .expect_text("the artifacts of evil are not copied to the working tree: .git/hooks");
    for (job, path) in [("file", ".gitlab-ci.yml"), ("settings", ".runwright.toml")] {
        assert!(done.stderr.contains(&format!(
            "warning: the artifacts of {job} are not copied to the working tree: {path} is a file of the pipeline\n"
        )), "{}", done.stderr);
    }
    assert!(there("good.txt") && there("same.txt"));
    assert!(!there(".git/hooks/pre-push") && !there(".runwright.toml"));
    assert_eq!(read(&project.dir().join(".gitlab-ci.yml")), pipeline);
    let refused = project.runwright(&["watch", "--artifacts-to-source"]);
    refused
        .expect_code(2)
        .expect_text("cannot be used with watch");
}
