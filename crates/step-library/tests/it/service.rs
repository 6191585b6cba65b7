//! A step-runner service with functions and images from this library.

use crate::registry::Registry;
use crate::support::Home;
use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, CancelCause, Cancellation};
use gitlab_testkit::GitLab;
use hyper_util::rt::TokioIo;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use step_library::StepLibrary;
use steps::wire::v1::RunRequest;
use steps::wire::v1::step_runner_client::StepRunnerClient;
use steps::{
    ClientOptions, JobCredentials, RunId, RunSpec, RunSteps, RunTiming, Service, ServiceOptions,
    StepsClient,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tonic::transport::{Endpoint, Uri};

/// Connects to the socket of a service.
#[derive(Debug, Clone)]
struct Socket(PathBuf);

#[async_trait]
impl StepsConnector for Socket {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let stream = UnixStream::connect(&self.0).await;
        let stream = stream.map_err(|error| BuildError::system("test", "connect", error))?;
        Ok(Box::new(stream))
    }
}

impl tower_service::Service<Uri> for Socket {
    type Response = TokioIo<UnixStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move { Ok(TokioIo::new(UnixStream::connect(path).await?)) })
    }
}

/// Runs steps in a new service, in `work`; returns whether they succeeded, and their log.
async fn run(library: StepLibrary, work: &Path, steps: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let socket = Socket(folder.path().join("socket"));
    let service = Service::start(ServiceOptions::new(folder.path().join("state"))).unwrap();
    let listener = UnixListener::bind(&socket.0).unwrap();
    let (stop, mut serving) = (Cancellation::new(), JoinSet::new());
    let stopped = stop.clone();
    serving.spawn(async move { service.serve(listener, &stopped).await.unwrap() });
    let channel = Endpoint::from_static("http://steps");
    let channel = channel
        .connect_with_connector(socket.clone())
        .await
        .unwrap();
    let request = RunRequest {
        id: "1".to_owned(),
        work_dir: work.display().to_string(),
        steps: steps.to_owned(),
        quiet: true,
        ..RunRequest::default()
    };
    StepRunnerClient::new(channel).run(request).await.unwrap();
    let client = StepsClient::new(Arc::new(socket), ClientOptions::default())
        .with_library(Arc::new(library), JobCredentials::default());
    let run = RunSpec {
        id: RunId::new("1"),
        steps: RunSteps::Language(steps.to_owned()),
        shell: Vec::new(),
        variables: Arc::default(),
        masked: Vec::new(),
        working_dir: work.display().to_string(),
        temp_dir: String::new(),
        timing: RunTiming::default(),
        progress: None,
        reports: None,
    };
    let mut log = Vec::new();
    let mut output = |_, bytes: &[u8]| log.extend_from_slice(bytes);
    let never = Cancellation::new();
    let ended = client.resume(&run, 0, &mut output, &never).await.unwrap();
    stop.cancel(CancelCause::Shutdown);
    while let Some(ended) = serving.join_next().await {
        ended.unwrap();
    }
    let left = fs::read_dir(folder.path().join("state/requests"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
    (ended.status.is_success(), String::from_utf8(log).unwrap())
}

const OUTER: &str = "spec: {inputs: {who: {type: string}}}\n---\n\
                     run: [{name: inner, func: ../inner, inputs: {who: '${{ inputs.who }}'}}]\n";
const INNER: &str = "spec: {inputs: {who: {type: string}}}\n---\n\
                     exec: {command: [sh, '${{ func_dir }}/../../hello', '${{ inputs.who }}']}\n";
const HELLO: &str = "echo \"hello $1\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn git_functions_run_in_a_service_without_git() {
    let gitlab = GitLab::start();
    let project = gitlab.project("group/lib");
    project.commit(&[
        ("steps/outer/func.yml", OUTER),
        ("steps/inner/func.yml", INNER),
        ("hello", HELLO),
    ]);
    let (home, work) = (Home::new(), tempfile::tempdir().unwrap());
    let url = project.clone_url();
    let function = |rev: &str| format!("{{git: {{url: '{url}', rev: {rev}, dir: steps/outer}}}}");
    let steps = format!(
        "[{{name: a, func: {}, inputs: {{who: you}}}}]",
        function("main")
    );
    let ended = run(home.library(&[&gitlab.url()]), work.path(), &steps).await;
    assert_eq!(ended, (true, "hello you\n".to_owned()));
    let steps = format!(
        "[{{name: a, func: {}, inputs: {{who: you}}}}]",
        function("v9")
    );
    let (succeeded, log) = run(home.library(&[&gitlab.url()]), work.path(), &steps).await;
    assert!(!succeeded);
    let expect = format!("{url} has no tag, branch or commit `v9`");
    assert!(
        log.starts_with("ERROR: step \"a\": ") && log.contains(&expect),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn built_image_is_published_and_run() {
    let registry = Registry::start();
    let (home, work) = (Home::new(), tempfile::tempdir().unwrap());
    fs::create_dir(work.path().join("bin")).unwrap();
    fs::write(work.path().join("bin/hello"), HELLO).unwrap();
    fs::write(work.path().join("outer.yml"), OUTER).unwrap();
    fs::write(work.path().join("inner.yml"), INNER).unwrap();
    let image = format!("{}/org/hello", registry.host);
    let steps = format!(
        r#"
- name: build
  func: builtin://function/oci/build
  inputs:
    version: "1.2.3"
    common: {{files: {{steps/outer/func.yml: outer.yml, steps/inner/func.yml: inner.yml}}}}
    platforms:
      linux/amd64: {{files: {{hello: bin/hello}}}}
      linux/arm64: {{files: {{hello: bin/hello}}}}
- name: publish
  func: builtin://function/oci/publish
  inputs: {{archive: function-image.tar, to_repository: {image}}}
- name: run
  func: {{oci: {{registry: "{host}", repository: org/hello, tag: "1.2", dir: steps/outer}}}}
  inputs: {{who: '${{{{ str(steps.publish.outputs.ref == "{image}@" + steps.build.outputs.digest) }}}}'}}
- {{name: tags, script: 'echo ${{{{ steps.publish.outputs.tags }}}}'}}
"#,
        host = registry.host
    );
    let library = home.library(&[&format!("http://{}", registry.host)]);
    let (succeeded, log) = run(library, work.path(), &steps).await;
    assert!(succeeded, "{log}");
    assert!(log.starts_with("hello true\n"), "{log}");
    assert!(log.contains("1.2.3") && log.contains("latest"), "{log}");
}
