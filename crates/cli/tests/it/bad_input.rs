//! Bad input: a clear message, the right exit code, no leftovers.

use crate::project::Project;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Runs this pipeline and expects exit code 2 and these texts.
fn check_invalid(pipeline: &str, texts: &[&str]) {
    let project = Project::with_pipeline(pipeline);
    let done = project.runwright(&["run"]).expect_code(2);
    for text in texts {
        assert!(done.all().contains(text), "no {text:?} in:\n{}", done.all());
    }
    assert!(project.leftovers().is_empty());
}

#[test]
fn directory_without_repository_or_pipeline_is_explained() {
    let project = Project::empty_directory();
    project.write(".gitlab-ci.yml", "job:\n  script: [\"true\"]\n");
    for command in ["run", "watch"] {
        project
            .runwright(&[command])
            .expect_code(2)
            .expect_text("git init");
    }
    let project = Project::with_pipeline("");
    fs::remove_file(project.dir().join(".gitlab-ci.yml")).unwrap();
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml");
    project
        .runwright(&["run", "-C", "/nonexistent"])
        .expect_code(2)
        .expect_text("/nonexistent");
    project
        .runwright(&["run", "-f", "other.yml"])
        .expect_code(2)
        .expect_text("other.yml");
}

#[test]
fn repository_without_a_commit_runs_with_a_warning() {
    let project = Project::empty_directory();
    project.write(".gitlab-ci.yml", "job:\n  script: [echo ran]\n");
    project.git(&["init", "-q"]);
    project
        .runwright(&["run"])
        .expect_code(0)
        .expect_text("job | ran");
}

#[test]
fn invalid_yaml_is_reported_with_its_location() {
    check_invalid("", &[".gitlab-ci.yml"]);
    check_invalid("a: [1, 2\nb: 3\n", &[".gitlab-ci.yml:2:"]);
    check_invalid("job:\n\tscript: true\n", &[".gitlab-ci.yml:2:", "tab"]);
    check_invalid("- a\n- b\n", &[".gitlab-ci.yml:1:"]);
}

#[test]
fn mistakes_in_jobs_are_named() {
    check_invalid("job:\n  stage: test\n", &["job", "script"]);
    check_invalid(
        "job:\n  stage: nope\n  script: a\n",
        &["nope", ".gitlab-ci.yml:2:"],
    );
    check_invalid(
        "a:\n  needs: [b]\n  script: x\nb:\n  needs: [a]\n  script: x\n",
        &["a", "b", "cycle"],
    );
    check_invalid(
        "compile:\n  script: x\nt:\n  needs: [compiel]\n  script: x\n",
        &["compiel", "did you mean", "compile"],
    );
    check_invalid("job:\n  scrpit: x\n", &["scrpit", "did you mean"]);
}

#[test]
fn invalid_variable_names_are_refused() {
    // input 16
    check_invalid("job:\n  variables: {\"A=B\": x}\n  script: x\n", &["A=B"]);
    check_invalid(
        "job:\n  variables: {\"A\\nB\": x}\n  script: x\n",
        &["variable"],
    );
    check_invalid(
        "job:\n  variables: {\"A\\0B\": x}\n  script: x\n",
        &["variable"],
    );
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    project
        .runwright(&["run", "--variable", "A\nB=x"])
        .expect_code(2);
}

#[test]
fn odd_job_names_run_in_a_safe_directory_or_are_refused() {
    // input 15
    let project = Project::with_pipeline(
        "\"x/../../../y\":\n  script: [pwd, echo here > file]\n  artifacts: {paths: [file]}\n",
    );
    project.runwright(&["run"]).expect_code(0);
    assert!(!project.scratch().join("y").exists());
    assert!(project.leftovers().is_empty());
    check_invalid("\"a\\nb\":\n  script: x\n", &[".gitlab-ci.yml:1:"]);
    check_invalid(&format!("{}:\n  script: x\n", "n".repeat(300)), &["255"]);
}

#[test]
fn names_on_the_command_line_are_checked() {
    let project = Project::with_pipeline("compile:\n  script: [\"true\"]\n");
    project
        .runwright(&["run", "compiel"])
        .expect_code(2)
        .expect_text("compile");
    project
        .runwright(&["run", "--stage", "nope"])
        .expect_code(2)
        .expect_text("nope");
    project
        .runwright(&["run", "--manual", "nope"])
        .expect_code(2)
        .expect_text("nope");
    project
        .runwright(&["run", "--executor", "dokcer"])
        .expect_code(2)
        .expect_text("dokcer");
    project
        .runwright(&["run", "--concurrency", "0"])
        .expect_code(2);
}

#[test]
fn missing_include_is_an_error() {
    check_invalid("include: other.yml\njob:\n  script: x\n", &["other.yml"]);
    let project = Project::with_pipeline("job:\n  coverage: /x/\n  script: [\"true\"]\n");
    project.runwright(&["run"]).expect_code(0);
}

#[test]
fn missing_shell_is_an_environment_failure() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    let empty = project.scratch().join("bin");
    fs::create_dir(&empty).unwrap();
    let git = ["/usr/local/bin/git", "/usr/bin/git"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap();
    std::os::unix::fs::symlink(git, empty.join("git")).unwrap();
    let output = project
        .command(&["run"])
        .env("PATH", &empty)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("bash"), "{text}");
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(project.leftovers().is_empty());
}

#[test]
fn unwritable_state_directory_is_an_environment_failure() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    // A file in place of the directory stops root too, unlike permissions.
    fs::write(project.home(), "in the way").unwrap();
    project
        .runwright(&["run"])
        .expect_code(3)
        .expect_text("home");
}

#[test]
fn full_disk_fails_the_job_with_a_message() {
    let project = Project::with_pipeline("job:\n  script: [\"echo x > /dev/full\"]\n");
    project
        .runwright(&["run"])
        .expect_code(1)
        .expect_text("No space left");
}

#[test]
fn tree_made_unreadable_by_a_job_is_removed() {
    let project = Project::with_pipeline(
        "job:\n  script: [mkdir -p deep/er, touch deep/er/file, chmod 000 deep/er, chmod 500 deep]\n",
    );
    project.runwright(&["run"]).expect_code(0);
    assert!(project.leftovers().is_empty(), "{:?}", project.leftovers());
}

#[test]
fn unreadable_files_are_named() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    fs::write(project.dir().join(".gitlab-ci.yml"), b"job: \xff\xfe").unwrap();
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml");
    fs::remove_file(project.dir().join(".gitlab-ci.yml")).unwrap();
    fs::create_dir(project.dir().join(".gitlab-ci.yml")).unwrap();
    fs::set_permissions(project.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    project
        .runwright(&["run"])
        .expect_code(2)
        .expect_text(".gitlab-ci.yml");
}

#[test]
fn endless_files_are_refused_at_once() {
    let project = Project::with_pipeline("job:\n  script: [\"true\"]\n");
    project
        .runwright(&["lint", "-f", "/dev/zero"])
        .expect_code(2)
        .expect_text("/dev/zero");
    project
        .runwright(&["run", "--timeout", "500000000000 years"])
        .expect_code(0);
}

#[test]
fn project_directory_may_have_any_name() {
    for name in [
        "new\nline \"x\"",
        "tab\there",
        "quo\"te",
        "back\\slash, co:lon",
    ] {
        let outer = Project::empty_directory();
        let git = |arguments: &[&str]| outer.git(&[&["-C", name], arguments].concat());
        let pipeline = "job: {script: [git log --format=%s, cat file]}";
        outer.write(&format!("{name}/.gitlab-ci.yml"), pipeline);
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-qm", "the only one"]);
        outer.write(&format!("{name}/file"), "as it is");
        let done = outer.runwright(&["run", "-C", name]).expect_code(0);
        for said in ["job | the only one", "job | as it is"] {
            assert!(done.stdout.contains(said), "{name:?}: {}", done.stdout);
        }
    }
}
