//! Variables refer to the environment of the container, not of the runner.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use hyper_util::rt::TokioIo;
use steps::agent::serve_command;
use steps::wire::v1;
use steps::wire::v1::step_runner_client::StepRunnerClient;
use tonic::transport::{Endpoint, Uri};

use super::container::{Container, DIRECTORY, PROGRAM};
use crate::service::support::{follow, plain, steps_of};

/// Connects the generated client.
#[derive(Clone)]
pub(super) struct Dial(pub(super) Arc<Container>);

impl tower_service::Service<Uri> for Dial {
    type Response = TokioIo<Box<dyn Connection>>;
    type Error = BuildError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let container = Arc::clone(&self.0);
        Box::pin(async move { Ok(TokioIo::new(container.connect(&Cancellation::new()).await?)) })
    }
}

#[tokio::test]
async fn values_refer_to_the_environment_of_the_container() {
    // R-STEP-33
    let serve = serve_command(PROGRAM, DIRECTORY, None);
    let words: Vec<&str> = serve.iter().map(String::as_str).collect();
    let options = ["--tmpfs=/run/agent", "--env=HOME=/elsewhere"];
    let container = Container::start(&options, "runwright-test/busybox:1", &words);
    let channel = Endpoint::from_static("http://steps")
        .connect_with_connector(Dial(Arc::new(container)))
        .await
        .unwrap();
    let mut client = StepRunnerClient::new(channel);
    let variable = |key: &str, raw: bool| v1::Variable {
        key: key.to_owned(),
        value: "$HOME/x".to_owned(),
        raw,
        ..v1::Variable::default()
    };
    let request = v1::RunRequest {
        id: "a".to_owned(),
        work_dir: "/".to_owned(),
        job: Some(v1::Job {
            variables: vec![variable("A", false), variable("RAW", true)],
            ..v1::Job::default()
        }),
        steps: steps_of(&[("script", "echo \"$A, $RAW\"")]),
        quiet: true,
        ..v1::RunRequest::default()
    };
    client.run(request).await.unwrap();
    let log = follow(&mut client, "a", 0).await;
    assert_eq!(plain(&log), "/elsewhere/x, $HOME/x\n");
}
