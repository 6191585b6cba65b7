//! Functions of the step language in repositories.

use super::remote_project::RemoteProject;
use crate::docker;
use gitlab_testkit::GitLab;

const GREET: &str = "spec: {inputs: {who: {type: string}}, outputs: delegate}\n---\nrun:\n  - {name: inner, func: ../say, inputs: {text: 'hello ${{ inputs.who }}'}}\ndelegate: inner\n";
const SAY: &str = "spec: {inputs: {text: {type: string}}, outputs: {said: {type: string}}}\n---\nexec: {command: [sh, -c, 'echo \"$1\"; echo \"{\\\"name\\\":\\\"said\\\",\\\"value\\\":\\\"$1\\\"}\" >>$2', sh, '${{ inputs.text }}', '${{ output_file }}']}\n";

const PIPELINE: &str = "
job:
  image: runwright-test/busybox:1
  run:
    - name: a
      func: {git: {url: URL/group/functions.git, rev: v1, dir: steps/greet}}
      inputs: {who: Sally}
    - {name: b, script: 'echo \"said ${{ steps.a.outputs.said }}\"; echo \"runwright is <$(command -v runwright)>\"'}
";

fn remote() -> RemoteProject {
    let remote = RemoteProject::new(GitLab::start(), PIPELINE);
    let functions = remote.gitlab.project("group/functions");
    let files = [("steps/greet/func.yml", GREET), ("steps/say/func.yml", SAY)];
    functions.commit(&files);
    functions.tag("v1");
    functions.commit(&[("steps/say/func.yml", "no function any more")]);
    remote
}

#[test]
fn job_calls_functions_of_a_repository_in_every_executor() {
    let remote = remote();
    for executor in ["shell", "docker"] {
        let mut run = remote.command(&["run", "--executor", executor]);
        run.env("DOCKER_HOST", docker::address());
        let done = crate::project::Done::from(run.output().unwrap());
        let done = done
            .expect_code(0)
            .expect_text("job | Running step \"inner\"\njob | hello Sally\n")
            .expect_text("job | said hello Sally\n");
        // The job's PATH does not contain the running program, but may contain one installed on this host.
        let done = done.expect_text("job | runwright is <");
        assert!(
            !done.stdout.contains(env!("CARGO_BIN_EXE_runwright")),
            "{}",
            done.stdout
        );
    }
    docker::nothing_left(&remote.project);
}

#[test]
fn repository_function_is_run_by_hand_and_cached() {
    let remote = remote();
    let reference = format!("{}/group/functions.git/-/greet@v1", remote.gitlab.url());
    let run = || {
        let arguments = ["steps", "run", &reference, "-i", "who=Bob"];
        remote
            .runwright(&arguments)
            .expect_code(0)
            .expect_text("hello Bob\n")
    };
    assert!(run().stderr.contains("output said = \"hello Bob\""));
    run();
    let wrong = format!("{}/group/functions.git/-/greet@v2", remote.gitlab.url());
    remote
        .runwright(&["steps", "run", &wrong])
        .expect_code(1)
        .expect_text("v2");
    let later = format!("{}/group/functions.git/-/greet@main", remote.gitlab.url());
    remote
        .runwright(&["steps", "run", &later, "-i", "who=Bob"])
        .expect_code(1)
        .expect_text("func.yml");
}

#[test]
fn fetched_functions_are_cleaned_like_caches() {
    let remote = remote();
    let reference = format!("{}/group/functions.git/-/greet@v1", remote.gitlab.url());
    let arguments = ["steps", "run", &reference, "-i", "who=Bob"];
    remote.runwright(&arguments).expect_code(0);
    let clean = |options: &[&str]| {
        let done = remote.runwright(&[&["clean"], options].concat());
        done.expect_code(0).stdout
    };
    // The repository, and the files of the commit.
    for looks in [&[][..], &["--cache", "--dry-run"], &["--all", "--dry-run"]] {
        let shown = clean(looks);
        assert!(shown.contains("would go  functions functions-"), "{shown}");
        assert!(shown.contains("2 things could go, "), "{shown}");
    }
    for others in [&["--cache", "--older-than", "1 day"][..], &["--runs"]] {
        assert_eq!(clean(others), "0 things removed, 0 B\n");
    }
    let removed = clean(&["--cache"]);
    assert!(
        removed.contains("removed  functions functions-"),
        "{removed}"
    );
    assert!(removed.contains("2 things removed, "), "{removed}");
    assert_eq!(clean(&["--cache"]), "0 things removed, 0 B\n");
    remote.runwright(&arguments).expect_code(0);
}
