//! The binary as the helper command of environments.

use crate::project::Project;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

/// Runs the binary under the name `gitlab-runner`.
#[expect(
    clippy::disallowed_methods,
    reason = "the script of a job starts the helper command"
)]
fn gitlab_runner(project: &Project, arguments: &[&str]) -> Output {
    let link = project.dir().join("gitlab-runner");
    if !link.is_symlink() {
        symlink(env!("CARGO_BIN_EXE_runwright"), &link).unwrap();
    }
    let mut command = Command::new(link);
    command.args(arguments).current_dir(project.dir());
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn binary_is_the_helper_command_under_its_name() {
    // R-EXEC-102
    let project = Project::empty_directory();
    let version = gitlab_runner(&project, &["--version"]);
    assert!(version.status.success());
    assert!(text(&version.stdout).contains("helper command"));
    project.write("dist/a", "one");
    let file = ["--file", "cache/k/cache.zip", "--timeout", "10"];
    let archive = [
        &["cache-archiver"],
        &file[..],
        &["--path", "dist", "--path", "../x"],
    ]
    .concat();
    let archived = gitlab_runner(&project, &archive);
    let stderr = text(&archived.stderr);
    assert!(archived.status.success(), "{stderr}");
    assert!(stderr.contains("dist: found 2 matching"), "{stderr}");
    assert!(
        stderr.contains("WARNING: ../x: is outside of the project directory"),
        "{stderr}"
    );
    fs::remove_dir_all(project.dir().join("dist")).unwrap();
    let extract = [&["cache-extractor"], &file[..]].concat();
    assert!(gitlab_runner(&project, &extract).status.success());
    assert_eq!(
        fs::read_to_string(project.dir().join("dist/a")).unwrap(),
        "one"
    );
}

#[test]
fn wrong_calls_of_the_helper_command_are_explained() {
    let project = Project::empty_directory();
    let wrong = gitlab_runner(&project, &["artifacts-uploader", "--url", "http://h"]);
    let stderr = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("artifacts-uploader needs --id"), "{stderr}");
    let hidden = project.command(&["helper", "cache-extractor", "--file", "none.zip"]);
    let missing = { hidden }.output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(text(&missing.stderr), "ERROR: no cache was found\n");
}
