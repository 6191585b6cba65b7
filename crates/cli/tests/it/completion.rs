//! Completion in a real shell.

#![expect(
    clippy::disallowed_methods,
    reason = "the tests drive the shell from outside"
)]

use crate::project::{Done, Project};
use std::path::Path;
use std::process::Command;

const FILE: &str = "
compile: {script: [echo]}
unit tests: {script: [echo]}
many: {parallel: 2, script: [echo]}
by hand: {stage: deploy, when: manual, script: [echo]}
by rule: {stage: deploy, rules: [{if: $NO}, {when: manual}], script: [echo]}
";

/// Returns what bash offers for the last of these words.
fn offered(project: &Project, words: &[&str]) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_runwright"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    let script = "
        source <(runwright completion bash)
        COMP_WORDS=(runwright \"$@\") COMP_CWORD=$# COMP_TYPE=9
        $(complete -p runwright | sed 's/.*-F \\([^ ]*\\).*/\\1/') runwright \"${@: -1}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, "bash"]).args(words);
    bash.current_dir(project.scratch()).env("PATH", path);
    bash.env("RUNWRIGHT_HOME", project.home());
    let done = Done::from(bash.output().unwrap()).expect_code(0);
    assert_eq!(done.stderr, "", "{words:?}");
    done.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_jobs_and_executors() {
    let project = Project::with_pipeline(FILE);
    let check = |words: &[&str], expect: &[&str]| {
        let words = [&["-C", "project"], words].concat();
        assert_eq!(offered(&project, &words), expect, "{words:?}");
    };
    check(&["run", "com"], &["compile"]);
    check(&["run", "un"], &["'unit tests'"]);
    check(&["explain", "ma"], &["many"]);
    check(&["run", "--skip", "compile,ma"], &["compile,many"]);
    check(&["logs", "1", "com"], &["compile"]);
    check(
        &["run", "--executor", "do"],
        &["docker", "docker+machine", "docker-autoscaler"],
    );
    check(&["run", "--stage", ""], &["test", "deploy"]);
    check(&["run", "--manual", ""], &["'by hand'", "'by rule'"]);
    check(&["artifacts", "--type", "j"], &["junit"]);
    check(&["hist"], &["history"]);
    check(&["run", "--dry"], &["--dry-run"]);
    check(
        &["run", "-f", "project/.gitlab-ci.y"],
        &["project/.gitlab-ci.yml"],
    );
    // An invalid file offers nothing, silently.
    project.write(".gitlab-ci.yml", "a: [");
    check(&["run", "com"], &[""]);
}

#[test]
fn bash_completes_what_runs_left() {
    let project = Project::with_pipeline(
        "done: {script: [echo], environment: review/x}\n\
         by hand: {when: manual, script: [echo]}\n\
         later: {when: manual, script: [echo]}\n",
    );
    let check = |words: &[&str], expect: &[&str]| {
        let words = [&["-C", "project"], words].concat();
        assert_eq!(offered(&project, &words), expect, "{words:?}");
    };
    check(&["play", "b"], &[""]);
    project.runwright(&["run"]).expect_code(0);
    project.runwright(&["run", "done"]).expect_code(0);
    check(&["environments", "stop", "r"], &["review/x"]);
    check(&["play", "b"], &[""]);
    check(&["play", "1", "b"], &["'by hand'"]);
    check(&["play", "1", "d"], &[""]);
}
