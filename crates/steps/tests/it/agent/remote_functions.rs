//! Remote functions in a container that cannot fetch them.

use super::container::{Container, DIRECTORY, PROGRAM};
use super::expansion::Dial;
use crate::service::fake_library::{FakeLibrary, begun, client_by};
use executor_core::Cancellation;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use steps::agent::serve_command;
use steps::wire::v1;
use steps::wire::v1::step_runner_client::StepRunnerClient;
use tonic::transport::Endpoint;

const FUNCTION: &str = "spec: {inputs: {who: {type: string}}}\n---\n\
                        exec: {command: ['${{ func_dir }}/hello', '${{ inputs.who }}']}\n";

#[tokio::test(flavor = "multi_thread")]
async fn container_without_git_and_network_runs_remote_functions_and_publishes() {
    let serve = serve_command(PROGRAM, DIRECTORY, None);
    let words: Vec<&str> = serve.iter().map(String::as_str).collect();
    let options = [
        "--tmpfs=/run/agent:mode=1777,exec",
        "--read-only",
        "--tmpfs=/work:mode=1777",
    ];
    let container = Container::start(&options, "runwright-test/nonroot:1", &words);
    let container = Arc::new(container);
    let folder = tempfile::tempdir().unwrap();
    let function = folder.path().join("steps");
    fs::create_dir(&function).unwrap();
    fs::write(function.join("func.yml"), FUNCTION).unwrap();
    fs::write(
        function.join("hello"),
        "#!/bin/sh\necho \"hello $1 of $(id -u)\"\n",
    )
    .unwrap();
    fs::set_permissions(function.join("hello"), fs::Permissions::from_mode(0o755)).unwrap();
    let library = FakeLibrary::with(&[("https://example.com/group/lib@v1", folder.path())]);
    let library = Arc::new(library);
    let steps = r#"
- {name: a, func: example.com/group/lib@v1, inputs: {who: you}}
- {name: b, script: echo content >file}
- name: build
  func: builtin://function/oci/build
  inputs: {version: "1.2.3", platforms: {linux/amd64: {files: [file]}}}
- name: publish
  func: builtin://function/oci/publish
  inputs: {archive: function-image.tar, to_repository: registry.example.com/a}
"#;
    let request = v1::RunRequest {
        id: "1".to_owned(),
        work_dir: "/work".to_owned(),
        steps: steps.to_owned(),
        quiet: true,
        ..v1::RunRequest::default()
    };
    let channel = Endpoint::from_static("http://steps");
    let channel = channel
        .connect_with_connector(Dial(Arc::clone(&container)))
        .await;
    let mut plain = StepRunnerClient::new(channel.unwrap());
    plain.run(request).await.unwrap();
    let client = client_by(Arc::clone(&container) as _, &library);
    let (run, mut log) = (begun("1"), Vec::new());
    let mut output = |_, bytes: &[u8]| log.extend_from_slice(bytes);
    let never = Cancellation::new();
    let result = client.resume(&run, 0, &mut output, &never).await.unwrap();
    let log = String::from_utf8(log).unwrap();
    assert!(result.status.is_success(), "{log}");
    assert_eq!(log, "hello you of 1000\n");
    let sent = library.sent.lock().clone();
    let archive = container.exec(&["cat", "/work/function-image.tar"]).stdout;
    assert!(sent["registry.example.com/a"] == archive && !archive.is_empty());
    let left = container.exec(&["ls", "-A", "/run/agent/requests"]);
    assert_eq!(left.stdout, b"");
}
