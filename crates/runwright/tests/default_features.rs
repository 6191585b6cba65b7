//! What a program gets that depends on `runwright` as it is. A build of the whole workspace has every feature, so
//! `cargo xtask ci` runs these tests for this crate alone.

#![cfg(not(feature = "remote"))]

use runwright::{LocalProject, PipelineOptions};
use std::fs;

fn error_of(file: &str) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join(".gitlab-ci.yml"), file).expect("a file");
    let project = LocalProject::find(directory.path(), None).expect("a project");
    let mut options = PipelineOptions::default();
    options.remote.directory = Some(directory.path().join("state"));
    let read = project.read(&options).expect("it is read");
    let errors = read
        .into_result()
        .expect_err("an include that cannot be fetched");
    format!("{errors:#?}")
}

#[test]
fn include_by_http_names_the_missing_feature() {
    let error = error_of("include: https://gitlab.example.com/ci.yml\na: { script: [ls] }\n");
    assert!(
        error.contains("this build sends no requests over HTTP"),
        "{error}"
    );
    assert!(error.contains("Cargo feature `remote`"), "{error}");
}
