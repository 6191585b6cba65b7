//! `--changed`: the jobs that a change touches.

use crate::project::Project;
use std::fs;

/// Two jobs that declare the files they read, one that depends on the first, and one without a declaration.
const PIPELINE: &str = "\
stages: [build, test]
app:
  stage: build
  script: echo app > app.txt
  artifacts: {paths: [app.txt]}
  rules: [{changes: ['src/**/*']}]
docs:
  stage: build
  script: echo docs
  rules: [{changes: ['docs/*']}]
check:
  stage: test
  script: cat app.txt
  needs: [app]
  rules: [{changes: [check]}]
lint:
  stage: test
  script: echo lint
  needs: []
";

/// Returns a project on a branch created from `main`, where all `changes` match.
fn project() -> Project {
    let project = Project::with_pipeline(PIPELINE);
    project.write("src/a.c", "");
    project.write("docs/a", "");
    project.commit();
    project.git(&["checkout", "-q", "-b", "topic"]);
    project
}

/// Compares the listed jobs, each with the reason.
fn check(project: &Project, options: &[&str], expect: &[&str]) {
    let options = [&["list"], options].concat();
    let listed = project.runwright(&options).expect_code(0);
    let lines = listed.stdout.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines, expect, "of {options:?}: {}", listed.stderr);
}

#[test]
fn committed_staged_unstaged_and_new_files_count() {
    let project = project();
    check(&project, &["--changed"], &[]);
    let lint = |path: &str| {
        format!("lint test `{path}` changed, and it is unknown what it reads; needs nothing")
    };
    // A commit.
    project.write("docs/a", "committed");
    project.commit();
    let docs = "docs build `docs/a` matches `docs/*`";
    check(&project, &["--changed"], &[docs, &lint("docs/a")]);
    check(&project, &["--changed=HEAD"], &[]);
    // A new file that is not ignored.
    project.write(".git/info/exclude", "*.tmp\n");
    project.write("src/new.tmp", "");
    check(&project, &["--changed=HEAD"], &[]);
    project.write("src/deep/new.c", "");
    let app = "app build `src/deep/new.c` matches `src/**/*`";
    let behind = "check test behind `app`; needs app";
    let expect = [app, behind, &lint("src/deep/new.c")];
    check(&project, &["--changed=HEAD"], &expect);
    // Staged, and reverted in the tree.
    fs::remove_dir_all(project.dir().join("src/deep")).unwrap();
    project.write("check", "x");
    project.git(&["add", "check"]);
    fs::remove_file(project.dir().join("check")).unwrap();
    let staged = "check test `check` matches `check`; needs app";
    check(&project, &["--changed=HEAD"], &[staged, &lint("check")]);
}

#[test]
fn both_names_of_a_renamed_file_and_the_name_of_a_removed_one_count() {
    let project = project();
    project.git(&["mv", "docs/a", "check"]);
    let lint = "lint test `check` changed, and it is unknown what it reads; needs nothing";
    let docs = "docs build `docs/a` matches `docs/*`";
    let renamed = "check test `check` matches `check`; needs app";
    check(&project, &["--changed"], &[docs, renamed, lint]);
    project.git(&["reset", "-q", "--hard"]);
    fs::remove_file(project.dir().join("docs/a")).unwrap();
    let lint = "lint test `docs/a` changed, and it is unknown what it reads; needs nothing";
    check(&project, &["--changed"], &[docs, lint]);
}

#[test]
fn unusual_file_names_match_and_are_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = project();
    let odd = b"docs/a \"b\"\n\xff\x1b[31m";
    let path = project.dir().join(std::ffi::OsStr::from_bytes(odd));
    fs::write(path, "").unwrap();
    let listed = project.runwright(&["list", "--changed"]).expect_code(0);
    assert!(listed.stdout.starts_with("docs"), "{listed:?}");
    assert!(!listed.stdout.contains('\x1b'), "{listed:?}");
    assert_eq!(listed.stdout.lines().count(), 2, "{listed:?}");
}

#[test]
fn pipeline_files_touch_every_job() {
    let project = project();
    project.write(".gitlab-ci.yml", &format!("{PIPELINE}# more\n"));
    let listed = project.runwright(&["list", "--changed"]).expect_code(0);
    let touched = listed
        .stdout
        .matches("`.gitlab-ci.yml` is part of the pipeline");
    assert_eq!(touched.count(), 4, "{listed:?}");
}

#[test]
fn unknown_changes_touch_every_job() {
    let project = project();
    let check = |project: &Project, option: &str, words: &str| {
        let listed = project.runwright(&["list", option]).expect_code(0);
        assert_eq!(listed.stdout.lines().count(), 4, "{listed:?}");
        listed
            .expect_text("it is unknown what changed")
            .expect_text(words);
    };
    check(
        &project,
        "--changed=no-such",
        "unknown branch, tag or commit \"no-such\"",
    );
    check(
        &project,
        "--changed=--output=x",
        "unknown branch, tag or commit",
    );
    assert!(!project.dir().join("x").exists());
    check(&project, "--changed=", "unknown branch, tag or commit");
    project.git(&["checkout", "-q", "--orphan", "other"]);
    check(&project, "--changed", "there is no commit yet");
    project.git(&["commit", "-q", "-m", "x"]);
    check(&project, "--changed", "no common ancestor");
    // Comparing a branch with itself is useless.
    project.git(&["checkout", "-q", "main"]);
    check(&project, "--changed", "--changed=HEAD");
}

#[test]
fn base_is_the_upstream_of_the_branch_if_set() {
    let project = project();
    project.git(&["remote", "add", "origin", "."]);
    project.write("docs/a", "pushed");
    project.commit();
    project.git(&["push", "-q", "-u", "origin", "topic:server", "--"]);
    project.git(&["fetch", "-q"]);
    let listed = project.runwright(&["list", "--changed"]).expect_code(0);
    listed.expect_text("nothing changed since origin/server");
    // Without an upstream the base is the default branch, also with a detached HEAD.
    project.git(&["checkout", "-q", "--detach"]);
    let listed = project.runwright(&["list", "--changed"]).expect_code(0);
    listed.expect_text("1 file changed since origin/main: 2 of 2 jobs touched");
}

#[test]
fn submodule_counts_as_a_directory() {
    let project = project();
    project.git(&["init", "-q", "docs-of/lib"]);
    project.write("docs-of/lib/.gitattributes", "tracked filter=x");
    project.write("docs-of/lib/tracked", "1");
    project.git(&["-C", "docs-of/lib", "add", "."]);
    project.git(&["-C", "docs-of/lib", "commit", "-q", "-m", "x"]);
    let url = project.dir().join("docs-of/lib").display().to_string();
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        &url,
        "src/lib",
    ]);
    project.git(&["commit", "-q", "-m", "with a submodule"]);
    fs::remove_dir_all(project.dir().join("docs-of")).unwrap();
    let clean = ["--changed=HEAD"];
    check(&project, &clean, &[]);
    // The submodule's configuration starts nothing.
    let program = format!("touch {}; cat", project.scratch().join("ran").display());
    project.git(&["-C", "src/lib", "config", "filter.x.clean", &program]);
    project.write("src/lib/tracked", "2");
    let app = "app build `src/lib/` matches `src/**/*`";
    let behind = "check test behind `app`; needs app";
    let lint = "lint test `src/lib/` changed, and it is unknown what it reads; needs nothing";
    let jobs = [app, behind, lint];
    check(&project, &["--changed=HEAD"], &jobs);
    assert!(!project.scratch().join("ran").exists());
    project.write("src/lib/tracked", "1");
    check(&project, &clean, &[]);
    project.write("src/lib/more", "");
    check(&project, &["--changed=HEAD"], &jobs);
}

#[test]
fn touched_jobs_run_with_their_needs() {
    let project = project();
    project.write("check", "");
    let jobs = |options: &[&str]| {
        let options = [&["run", "--progress", "json"], options].concat();
        let done = project.runwright(&options).expect_code(0);
        let events = done
            .stdout
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let ended = events.filter(|event| event["type"] == "job_finished");
        let names = ended.map(|event| event["job"].as_str().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(jobs(&["--changed"]), ["app", "check", "lint"]);
    assert_eq!(jobs(&["--changed", "--no-needs", "lint"]), ["lint"]);
    assert_eq!(
        jobs(&["--changed", "--changes-base", "HEAD", "check"]),
        ["app", "check"]
    );
    assert_eq!(
        jobs(&["--changed", "--stage", "build"]),
        Vec::<String>::new()
    );
    assert_eq!(
        jobs(&["--changed", "--skip", "lint", "--no-needs", "docs"]),
        Vec::<String>::new()
    );
    // Files named on the command line take precedence over git.
    assert_eq!(
        jobs(&["--changed", "--changes", "docs/x"]),
        ["docs", "lint"]
    );
}

#[test]
fn inputs_in_the_settings_take_precedence() {
    let project = project();
    let settings = "[jobs.lint]\ninputs = ['src']\n[jobs.docs]\ninputs = []\n";
    project.write(".runwright.toml", settings);
    project.commit();
    project.write("docs/a", "x");
    check(&project, &["--changed=HEAD"], &[]);
    project.write("src/b.c", "x");
    let app = "app build `src/b.c` matches `src/**/*`";
    let behind = "check test behind `app`; needs app";
    let lint = "lint test `src/b.c` matches `src`; needs nothing";
    check(&project, &["--changed=HEAD"], &[app, behind, lint]);
}

#[test]
fn no_touched_job_is_a_success() {
    let project = project();
    let done = project.runwright(&["run", "--changed"]).expect_code(0);
    done.expect_text("nothing changed since main");
}

#[test]
fn plan_and_json_show_the_reason_too() {
    let project = project();
    project.write("docs/a", "x");
    let shown = project.runwright(&["plan", "--changed"]).expect_code(0);
    insta::assert_snapshot!(shown.stdout, @r"
    branch topic (push): 2 of 4 jobs
    stage build
      docs  on_success  `docs/a` matches `docs/*`
    stage test
      lint  on_success  needs nothing; `docs/a` changed, and it is unknown what it reads
    not touched
      app, check
    ");
    for command in ["list", "plan"] {
        let shown = project
            .runwright(&[command, "--json", "--changed"])
            .expect_code(0);
        let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        let jobs = shown.get("jobs").unwrap_or(&shown);
        let cause = serde_json::json!({"input": {"path": "docs/a", "pattern": "docs/*"}});
        assert_eq!(jobs[0]["touched_by"], cause, "of {command}: {shown}");
        assert_eq!(jobs.as_array().unwrap().len(), 2, "of {command}");
    }
}

#[test]
fn shallow_clone_reports_more_changes_rather_than_fewer() {
    let project = project();
    project.write("docs/a", "x");
    project.commit();
    let clone = project.scratch().join("clone");
    let url = format!("file://{}", project.dir().display());
    let clone = clone.to_str().unwrap();
    project.git(&[
        "clone",
        "-q",
        "--depth=1",
        "--no-single-branch",
        &url,
        clone,
    ]);
    let listed = project.runwright(&["list", "--changed=origin/main", "--cwd", clone]);
    listed.expect_code(0).expect_text("no common ancestor");
}
