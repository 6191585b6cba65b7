//! `runwright run`: the jobs it runs, its output and its exit codes.

use crate::project::Project;
use std::fs;

const TWO_STAGES: &str = "\
stages: [build, test]
compile:
  stage: build
  script:
    - echo compiled > product.txt
  artifacts:
    paths: [product.txt]
check:
  stage: test
  script:
    - grep -q compiled product.txt
    - echo \"checked on $CI_COMMIT_BRANCH by $CI_COMMIT_AUTHOR\"
";

#[test]
fn pipeline_runs_and_artifacts_reach_later_jobs() {
    let project = Project::with_pipeline(TWO_STAGES);
    let done = project.runwright(&["run"]).expect_code(0);
    let line = "check   | checked on main by Test Author <author@example.com>";
    assert!(done.stdout.contains(line), "{}", done.stdout);
    assert!(
        !project.dir().join("product.txt").exists(),
        "the working tree is not touched"
    );
    assert_eq!(project.leftovers(), [] as [std::path::PathBuf; 0]);
}

#[test]
fn failed_job_is_reported_with_exit_code_and_command_to_run_it_alone() {
    let project = Project::with_pipeline(
        "good:\n  script: [\"true\"]\nbad:\n  script:\n    - echo the last words\n    - exit 7\n",
    );
    let done = project.runwright(&["run"]).expect_code(1);
    let summary = done.all();
    assert!(summary.contains("bad"), "{summary}");
    assert!(summary.contains("exit code 7"), "{summary}");
    assert!(
        summary.matches("the last words").count() >= 2,
        "log and summary: {summary}"
    );
    assert!(
        summary.contains("runwright run bad --no-needs"),
        "{summary}"
    );
    let hint = project.runwright(&["run", "-f", ".gitlab-ci.yml", "--variable", "A=b c"]);
    let hint = hint.expect_code(1).all();
    let command = "runwright run bad --no-needs -f .gitlab-ci.yml --variable 'A=b c'";
    assert!(hint.contains(command), "the settings are repeated: {hint}");
}

#[test]
fn allowed_failure_lets_the_pipeline_pass() {
    let project = Project::with_pipeline(
        "shaky:\n  allow_failure: true\n  script: [exit 1]\nfirm:\n  script: [\"true\"]\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    done.expect_text("success (1 allowed failure, 1 success)");
}

#[test]
fn selected_jobs_run_with_their_needs_unless_disabled() {
    // R-PIPE-15 R-PIPE-16
    let project = Project::with_pipeline(
        "stages: [build, test]\n\
         a:\n  stage: build\n  script: [echo from-a]\n\
         b:\n  stage: build\n  script: [echo from-b]\n\
         c:\n  stage: test\n  needs: [a]\n  script: [echo from-c]\n",
    );
    let done = project.runwright(&["run", "c"]).expect_code(0);
    assert!(done.stdout.contains("a | from-a") && done.stdout.contains("c | from-c"));
    assert!(!done.stdout.contains("from-b"));
    let done = project
        .runwright(&["run", "--jobs", "c", "--no-needs"])
        .expect_code(0);
    assert!(!done.stdout.contains("from-a") && done.stdout.contains("c | from-c"));
    let done = project
        .runwright(&["run", "--stage", "build"])
        .expect_code(0);
    assert!(done.stdout.contains("from-a") && done.stdout.contains("from-b"));
    assert!(!done.stdout.contains("from-c"));
}

#[test]
fn dry_run_lists_jobs_and_runs_none() {
    let project = Project::with_pipeline("job:\n  script: [touch \"$OLDPWD/ran\", echo RAN-IT]\n");
    let json = project.runwright(&["run", "--dry-run", "--progress", "json", "job"]);
    let plan = project.runwright(&["plan", "--json", "job"]).expect_code(0);
    assert_eq!(json.expect_code(0).stdout, plan.stdout);
    let done = project.runwright(&["run", "--dry-run"]).expect_code(0);
    assert!(done.stdout.contains("job"));
    assert!(!done.stdout.contains("job | RAN-IT"));
    assert!(
        !project.home().join("projects").exists(),
        "a dry run leaves no state"
    );
}

#[test]
fn pipeline_variables_take_precedence_and_secrets_are_masked() {
    let project = Project::with_pipeline(
        "variables: {WHO: file}\njob:\n  variables: {WHO: job}\n  script:\n    - echo \"who=$WHO\"\n    - echo \"token=<$API_TOKEN>\"\n    - printf '%s' \"$API_TOKEN\" | cut -c1-6\n",
    );
    fs::write(project.scratch().join("token"), "s3cr3t-value-1\n").unwrap();
    let token = format!("API_TOKEN=@{}", project.scratch().join("token").display());
    let done = project
        .runwright(&["run", "--variable", "WHO=line", "--secret", &token])
        .expect_code(0);
    assert!(done.stdout.contains("who=line"), "{}", done.stdout);
    assert!(done.stdout.contains("token=<[MASKED]>"), "{}", done.stdout);
    assert!(!done.all().contains("s3cr3t-value-1"));
    let logs = walk_text(&project.home());
    assert!(
        !logs.contains("s3cr3t-value-1"),
        "no secret is kept in the state"
    );
}

#[test]
fn secret_is_read_from_the_environment() {
    let project = Project::with_pipeline("job:\n  script: [echo \"<$TOKEN>\"]\n");
    let output = project
        .command(&["run", "--secret", "TOKEN"])
        .env("TOKEN", "0123456789abcdef")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("<[MASKED]>"), "{printed}");
    project
        .runwright(&["run", "--secret", "NOT_SET_ANYWHERE"])
        .expect_code(2);
}

#[test]
fn uncommitted_changes_are_part_of_the_working_copy() {
    let project = Project::with_pipeline(
        "job:\n  script:\n    - cat untracked.txt changed.txt\n    - test ! -e ignored.txt\n    - test ! -e deleted.txt\n    - ./tool.sh\n    - git status --porcelain\n",
    );
    project.write("changed.txt", "old\n");
    project.write("deleted.txt", "old\n");
    project.write(".gitignore", "ignored.txt\n");
    project.write("tool.sh", "#!/bin/sh\necho executable\n");
    project.git(&["add", "-A"]);
    project.git(&["update-index", "--chmod=+x", "tool.sh"]);
    make_executable(&project.dir().join("tool.sh"));
    project.commit();
    project.write("changed.txt", "new-content\n");
    project.write("untracked.txt", "not-added\n");
    project.write("ignored.txt", "secret\n");
    fs::remove_file(project.dir().join("deleted.txt")).unwrap();
    let done = project.runwright(&["run"]).expect_code(0);
    for text in ["not-added", "new-content", "executable"] {
        assert!(done.stdout.contains(text), "{text}: {}", done.stdout);
    }
}

#[test]
fn in_place_runs_in_the_working_tree() {
    let project = Project::with_pipeline("job:\n  script: [echo here > made-by-job.txt]\n");
    project.runwright(&["run", "--in-place"]).expect_code(0);
    assert_eq!(
        fs::read_to_string(project.dir().join("made-by-job.txt")).unwrap(),
        "here\n"
    );
}

#[test]
fn second_run_in_place_names_the_lock_holder() {
    let project = Project::with_pipeline(
        "job:\n  script: [echo holding, \"while test ! -e release; do sleep 0.05; done\"]\n",
    );
    let mut holder = project.start(&["run", "--in-place"]);
    project.wait_for("job | holding");
    let refused = project.runwright(&["run", "--in-place"]);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.stderr.contains(&holder.id().to_string()),
        "{}",
        refused.stderr
    );
    project.write("release", "");
    assert!(holder.wait().unwrap().success());
}

#[test]
fn two_runs_in_one_directory_both_pass() {
    let project = Project::with_pipeline(TWO_STAGES);
    let mut first = project.start(&["run"]);
    project.runwright(&["run"]).expect_code(0);
    assert!(first.wait().unwrap().success());
}

#[test]
fn manual_job_waits_until_it_is_played() {
    let project = Project::with_pipeline(
        "stages: [a, b]\ngate:\n  stage: a\n  when: manual\n  allow_failure: false\n  script: [echo played]\noption:\n  stage: a\n  when: manual\n  script: [echo option]\nafter:\n  stage: b\n  script: [echo after-gate]\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(!done.stdout.contains("after-gate\n"), "{}", done.stdout);
    done.expect_text("it waits for gate: runwright play 1 gate continues it\n");
    let done = project
        .runwright(&["run", "--manual", "gate"])
        .expect_code(0);
    assert!(done.stdout.contains("gate   | played"));
    assert!(done.stdout.contains("after-gate\n"));
}

#[test]
fn retried_job_passes_on_its_second_attempt() {
    let project = Project::with_pipeline(
        "job:\n  retry: 1\n  script:\n    - test -e \"$MARK\" || { touch \"$MARK\"; exit 1; }\n",
    );
    let mark = format!("MARK={}", project.scratch().join("mark").display());
    project
        .runwright(&["run", "--variable", &mark])
        .expect_code(0)
        .expect_text(
            "Trying again, attempt 2: the previous one ended with script_failure, exit code 1",
        );
}

#[test]
fn pipeline_timeout_ends_the_run() {
    let project = Project::with_pipeline("job:\n  script: [sleep 600]\n");
    project
        .runwright(&["run", "--timeout", "1 second"])
        .expect_code(1);
    project
        .runwright(&["run", "--timeout", "soon"])
        .expect_code(2);
}

#[test]
fn jobs_get_a_login_shell_only_on_request() {
    let project = Project::with_pipeline(
        "job:\n  script: [\"shopt -q login_shell && echo LOGIN-YES || echo LOGIN-NO\"]\n",
    );
    assert!(
        project
            .runwright(&["run"])
            .expect_code(0)
            .stdout
            .contains("job | LOGIN-NO")
    );
    assert!(
        project
            .runwright(&["run", "--login"])
            .expect_code(0)
            .stdout
            .contains("job | LOGIN-YES")
    );
}

#[test]
fn predefined_variables_describe_the_commit() {
    let project = Project::with_pipeline(
        "job name:\n  script:\n    - echo \"$CI $GITLAB_CI $CI_JOB_NAME $CI_JOB_STAGE\"\n    - echo \"title=$CI_COMMIT_TITLE ref=$CI_COMMIT_REF_SLUG sha=$CI_COMMIT_SHA\"\n    - test \"$CI_PROJECT_DIR\" = \"$PWD\"\n    - test \"$(git rev-parse HEAD)\" = \"$CI_COMMIT_SHA\"\n",
    );
    let done = project.runwright(&["run"]).expect_code(0);
    assert!(
        done.stdout.contains("true true job name test"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("title=A first commit ref=main sha="),
        "{}",
        done.stdout
    );
}

#[test]
fn help_completions_and_man_pages_are_printed() {
    let project = Project::empty_directory();
    let help = project.runwright(&["run", "--help"]).expect_code(0).stdout;
    for text in ["Examples:", "Exit codes:", "--in-place", "--secret"] {
        assert!(help.contains(text), "{text}");
    }
    let script = project
        .runwright(&["completion", "bash"])
        .expect_code(0)
        .stdout;
    assert!(script.contains("runwright"), "{script}");
    let page = project.runwright(&["man"]).expect_code(0).stdout;
    assert!(page.contains(".TH runwright"), "{page}");
    let pages = project.scratch().join("man");
    project
        .runwright(&["man", "--output", pages.to_str().unwrap()])
        .expect_code(0);
    assert!(pages.join("runwright-run.1").exists());
    let executors = project.runwright(&["executors"]).expect_code(0).stdout;
    assert!(executors.contains("shell"), "{executors}");
    project
        .runwright(&["run", "--no-such-option"])
        .expect_code(2);
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn walk_text(dir: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&walk_text(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    text
}

#[test]
fn unwritable_output_is_an_environment_failure() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    for arguments in [
        &["run"][..],
        &["list"],
        &["lint", "--json"],
        &["man"],
        &["executors"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = project.command(arguments).stdout(full).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {complaint}");
        assert!(
            complaint.contains("No space left"),
            "{arguments:?}: {complaint}"
        );
    }
    project
        .runwright(&["run", "--events", "/dev/full"])
        .expect_code(3);
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let project = Project::with_pipeline("\"red\\e[31m\":\n  script: [exit 1]\n");
    let done = project.runwright(&["run"]).expect_code(1);
    assert!(!done.all().contains('\u{1b}'), "{:?}", done.all());
}

#[test]
fn pipeline_file_is_found_from_a_subdirectory() {
    let project = Project::with_pipeline("top:\n  script: [echo from-top]\n");
    project.write("sub/own.yml", "own:\n  script: [echo from-own]\n");
    let done = project
        .runwright(&["run", "-C", "sub", "-f", "own.yml"])
        .expect_code(0);
    assert!(done.stdout.contains("own | from-own"), "{}", done.stdout);
    let done = project.runwright(&["run", "-C", "sub"]).expect_code(0);
    assert!(done.stdout.contains("top | from-top"), "{}", done.stdout);
}

#[test]
fn only_manual_jobs_are_started_by_manual() {
    let project = Project::with_pipeline(
        "one: {script: [echo one]}\ntwo: {when: manual, script: [echo two]}\n",
    );
    for words in [
        &["run", "--manual", "one"][..],
        &["watch", "--manual", "one"],
    ] {
        project
            .runwright(words)
            .expect_code(2)
            .expect_text("--manual one: the job is not manual");
    }
    let done = project.runwright(&["run", "--manual", "*"]).expect_code(0);
    assert!(done.stdout.contains("two | two"), "{}", done.stdout);
}

#[test]
fn dry_run_shows_a_command_of_several_lines_as_one() {
    let project = Project::with_pipeline(
        "job:\n  script:\n    - |\n      cat <<END\n\n        text\n      END\n    - echo\n",
    );
    let done = project.runwright(&["run", "--dry-run"]).expect_code(0);
    let expect = "stage test\n  job\n    $ cat <<END\n\n        text\n      END\n    $ echo\n";
    assert_eq!(done.stdout, expect);
}

#[test]
fn stage_runs_with_what_it_needs_or_alone() {
    let project = Project::with_pipeline(
        "stages: [a, b]\none: {stage: a, script: [echo]}\ntwo: {stage: b, script: [echo]}\n",
    );
    let shown = |words: &[&str]| {
        let words = [&["run", "--dry-run", "--stage", "b"], words].concat();
        project.runwright(&words).expect_code(0).stdout
    };
    assert!(shown(&[]).contains("one"));
    assert!(!shown(&["--no-needs"]).contains("one"));
}

#[test]
fn jobs_of_a_repository_without_commits_have_a_repository() {
    let project = Project::empty_directory();
    project.git(&["init", "-q", "-b", "main"]);
    project.write(
        ".gitlab-ci.yml",
        "job: {script: [git status --short --branch, git symbolic-ref HEAD]}\n",
    );
    project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("No commits yet on main")
        .expect_text("refs/heads/main");
}

#[test]
fn shells_and_refused_runs_take_no_number() {
    let project = Project::with_pipeline(
        "job: {script: [echo]}\nboxed: {image: debian, when: manual, script: [echo]}\n",
    );
    project.runwright(&["run"]).expect_code(0);
    project
        .runwright(&["shell", "job", "--", "true"])
        .expect_code(0);
    project.runwright(&["run", "boxed"]).expect_code(3);
    project
        .runwright(&["shell", "boxed", "--", "true"])
        .expect_code(3);
    project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("pipeline 2: success");
}

#[test]
fn missing_file_is_answered_with_what_helps() {
    let project = Project::empty_directory();
    project.git(&["init", "-q", "-b", "main"]);
    let check = |words: &[&str], help: &str| {
        project.runwright(words).expect_code(2).expect_text(help);
    };
    check(&["run"], "`runwright init` writes one");
    project.write(".gitlab-ci.yaml", "job: {script: [echo]}\n");
    check(&["run"], "did you mean .gitlab-ci.yaml?");
    check(
        &["lint", "-f", "other.yml"],
        "`runwright init` writes a .gitlab-ci.yml, the default file",
    );
    project.write(".gitlab-ci.yml", "job: {script: [echo]}\n");
    check(
        &["list", "-f", "other.yml"],
        "the default pipeline file, .gitlab-ci.yml, exists",
    );
    project
        .runwright(&["config", "show", "--origin"])
        .expect_code(0)
        .expect_text("there is none; `runwright config init --project` writes one");
}

#[test]
fn commands_in_errors_have_the_options_of_the_command() {
    let project = Project::with_pipeline("a: {script: [echo]}\n");
    project.write(
        "other.yml",
        "job: {script: [echo], rules: [{if: $CI_COMMIT_TAG}]}\n",
    );
    project
        .runwright(&["run", "job", "-f", "other.yml", "--executor", "shell"])
        .expect_code(2)
        .expect_text("`runwright run job --executor shell --tag v1.0.0 -f other.yml` includes it")
        .expect_text("`runwright shell --executor shell -f other.yml job` enters it anyway");
    project.write(".gitlab-ci-local-env", "FILE=gone.yml\n");
    project
        .runwright(&["list"])
        .expect_code(2)
        .expect_text(", which FILE of .gitlab-ci-local-env names");
}
