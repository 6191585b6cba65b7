//! `runwright init`: a first pipeline file that suits the project.

use crate::project::Project;
use std::fs;

fn repository() -> Project {
    let project = Project::empty_directory();
    project.git(&["init", "-q", "-b", "main"]);
    project
}

/// Writes the file, checks it and runs it.
fn check(files: &[(&str, &str)], says: &str) {
    let project = repository();
    for (name, text) in files {
        project.write(name, text);
    }
    let printed = project.runwright(&["init", "--print"]).expect_code(0);
    assert!(!project.dir().join(".gitlab-ci.yml").exists());
    project
        .runwright(&["init"])
        .expect_code(0)
        .expect_text(says);
    let written = fs::read_to_string(project.dir().join(".gitlab-ci.yml")).unwrap();
    assert_eq!(written, printed.stdout);
    let lint = project.runwright(&["lint"]).expect_code(0);
    assert!(!lint.all().contains("warning"), "{}", lint.all());
    project.commit();
    let run = project.runwright(&["run"]).expect_code(0);
    assert!(!run.all().contains("warning"), "{}", run.all());
}

#[test]
fn written_file_passes_lint_and_runs() {
    check(&[], "to begin with");
    check(
        &[("Makefile", "build:\n\ttrue\ntest: build\n\ttrue\n")],
        "for Makefile",
    );
    check(
        &[("setup.py", "print(1)\n"), ("Makefile", "")],
        "for setup.py",
    );
    let package = r#"{"name": "a", "version": "1.0.0", "scripts": {"test": "node --version"}}"#;
    check(&[("package.json", package)], "for package.json");
}

#[test]
fn file_for_a_crate_builds_and_tests_it() {
    check(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"first\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
            ),
            ("src/lib.rs", "#[test]\nfn one() {}\n"),
            ("Makefile", "all:\n"),
        ],
        "there is also Makefile",
    );
}

#[test]
fn no_file_is_overwritten() {
    for name in [".gitlab-ci.yml", ".bitrab-ci.yml"] {
        let project = repository();
        project.write(name, "mine");
        project
            .runwright(&["init"])
            .expect_code(2)
            .expect_text(&format!("{name} already exists"));
        assert_eq!(
            fs::read_to_string(project.dir().join(name)).unwrap(),
            "mine"
        );
    }
    // A dangling link counts as a file of the user, too.
    let project = repository();
    std::os::unix::fs::symlink("nowhere", project.dir().join(".gitlab-ci.yml")).unwrap();
    project.runwright(&["init"]).expect_code(2);
    assert!(!project.dir().join("nowhere").exists());
}

#[test]
fn empty_file_counts_as_absent() {
    let project = repository();
    project.write(".gitlab-ci.yml", "");
    project.runwright(&["init"]).expect_code(0);
    project.runwright(&["lint"]).expect_code(0);
    project.runwright(&["init"]).expect_code(2);
}

#[test]
fn missing_repository_is_an_error_with_advice() {
    let project = Project::empty_directory();
    project
        .runwright(&["init"])
        .expect_code(2)
        .expect_text("`git init` makes one");
    assert!(!project.dir().join(".gitlab-ci.yml").exists());
}
