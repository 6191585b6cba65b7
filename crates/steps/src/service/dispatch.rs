//! Routes each call to the service of its package.

use std::convert::Infallible;

use executor_core::panics::catch_panic;
use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower_service::Service as _;

use super::calls::Api;
use super::upstream::Upstream;
use crate::wire::upstream::step_runner_server::StepRunnerServer as UpstreamServer;
use crate::wire::v1::step_runner_server::StepRunnerServer;

/// The largest message that is accepted. One message has the variables and scripts of a whole job.
const LARGEST_MESSAGE: usize = 64 << 20;

/// Both services behind one socket.
#[derive(Clone)]
pub(crate) struct Dispatch {
    ours: StepRunnerServer<Api>,
    theirs: UpstreamServer<Upstream>,
}

impl Dispatch {
    pub(crate) fn new(api: Api) -> Self {
        let theirs = UpstreamServer::new(Upstream(api.clone()));
        Self {
            ours: StepRunnerServer::new(api).max_decoding_message_size(LARGEST_MESSAGE),
            theirs: theirs.max_decoding_message_size(LARGEST_MESSAGE),
        }
    }

    /// Handles a call.
    pub(crate) async fn answer(
        self,
        call: Request<Incoming>,
    ) -> Result<Response<Body>, Infallible> {
        guarded(self.route(call)).await
    }

    async fn route(mut self, call: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        match package(call.uri().path()) {
            StepRunnerServer::<Api>::NAME => self.ours.call(call).await,
            UpstreamServer::<Upstream>::NAME => self.theirs.call(call).await,
            _ => Ok(Status::unimplemented("unknown service").into_http()),
        }
    }
}

/// Turns the panic of a handler into a response, so that clients do not take it for a lost connection.
async fn guarded(
    answer: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Result<Response<Body>, Infallible> {
    match catch_panic(answer).await {
        Ok(response) => response,
        Err(panic) => {
            tracing::error!(%panic, "A call panicked.");
            Ok(Status::internal("internal error of the step-runner").into_http())
        }
    }
}

/// Returns the service in a path, `/package.Service/Method`.
fn package(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_becomes_an_answer() {
        let Ok(response) = guarded(async { panic!("hunter2") }).await;
        let header = |name: &str| response.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(header("grpc-status"), "13");
        assert!(!header("grpc-message").contains("hunter2"));
    }

    #[test]
    fn service_is_taken_from_the_path() {
        let check = |path, expect| assert_eq!(package(path), expect);
        check("/proto.StepRunner/Run", "proto.StepRunner");
        check(
            "/runwright.steps.v1.StepRunner/Run",
            "runwright.steps.v1.StepRunner",
        );
        check("/", "");
        check("", "");
        check("StepRunner", "StepRunner");
    }
}
