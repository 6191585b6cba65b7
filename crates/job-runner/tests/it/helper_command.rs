//! The helper command by itself: its arguments and errors.

use crate::support::files_below;
use job_runner::helper::{HelperCommand, HelperContext};
use std::fs;
use std::path::Path;
use std::sync::Arc;

#[test]
fn wrong_arguments_are_named() {
    let check = |arguments: &str, expect: &str| {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let error = HelperCommand::parse(&arguments)
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with(expect), "{error}");
    };
    check(
        "",
        "\"\" is not a helper command; there are artifacts-downloader,",
    );
    check("exec", "\"exec\" is not a helper command");
    check("cache-archiver --path a", "cache-archiver needs --file");
    check(
        "cache-archiver --file",
        "cache-archiver: --file needs a value",
    );
    check(
        "cache-extractor --file a --timeout soon",
        "cache-extractor: invalid --timeout: expected a number of minutes",
    );
    let place = "--url http://h --token t --id";
    check(
        &format!("artifacts-downloader {place} x"),
        "artifacts-downloader: invalid --id",
    );
    check(
        "artifacts-downloader --id 1 --token t",
        "artifacts-downloader needs --url",
    );
    check(
        "artifacts-downloader --id 1 --url h:s3cret@ --token t",
        "artifacts-downloader",
    );
    check(
        "artifacts-uploader --tokn=s3cret",
        "artifacts-uploader has no option \"--tokn\"",
    );
    let upload = format!("artifacts-uploader {place} 1 --artifact-format rar");
    check(
        &upload,
        "artifacts-uploader: invalid --artifact-format: expected zip, gzip, raw, zipzstd or tarzstd, found \"rar\"",
    );
}

/// Runs a command in `directory`, and returns its error.
async fn fails(directory: &Path, arguments: &[&str]) -> String {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let context = HelperContext {
        directory: directory.to_owned(),
        temp: directory.to_owned(),
        variable: Arc::new(|_| None),
        print: Arc::new(|_| ()),
    };
    let command = HelperCommand::parse(&arguments).expect("valid arguments");
    let error = command.run(&context).await.expect_err("it fails");
    executor_core::chain(&error)
}

#[tokio::test]
async fn failures_of_the_command_are_explained() {
    let root = tempfile::tempdir().expect("a directory");
    let [project, file] = ["project", "cache.zip"].map(|it| root.path().join(it));
    fs::create_dir(&project).expect("made");
    for name in ["a", "b"] {
        fs::write(project.join(name), "x").expect("written");
    }
    let extract = ["cache-extractor", "--file", "../cache.zip"];
    assert_eq!(fails(&project, &extract).await, "no cache was found");
    fs::write(&file, "PK\x03\x04 and no more").expect("written");
    let error = fails(&project, &extract).await;
    assert!(
        error.starts_with("unpack the cache: the archive is damaged"),
        "{error}"
    );
    // Nothing listens on this port: it was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
    let url = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let place = [
        "--url",
        &url,
        "--token",
        "t",
        "--id",
        "5",
        "--timeout",
        "2s",
    ];
    let [download, mut upload] = ["artifacts-downloader", "artifacts-uploader"].map(|it| {
        let mut arguments = vec![it];
        arguments.extend(place);
        arguments
    });
    let error = fails(&project, &download).await;
    let expect = format!("download the artifacts of job 5: {url} cannot be reached");
    assert!(error.starts_with(&expect), "{error}");
    upload.extend(["--path", "*", "--artifact-format", "raw"]);
    assert_eq!(
        fails(&project, &upload).await,
        "the artifact format raw is for one file, but 2 match"
    );
    // The archive is complete but cannot get its name.
    fs::create_dir(root.path().join("taken")).expect("made");
    let archive = ["cache-archiver", "--file", "../taken", "--path", "a"];
    let error = fails(&project, &archive).await;
    assert!(error.starts_with("create "), "{error}");
    assert_eq!(
        files_below(root.path()).len(),
        3,
        "temporary files are removed"
    );
}
