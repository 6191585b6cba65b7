//! The calls of package `proto`, for GitLab Runner's own client.

use tonic::{Request as Call, Response, Status, async_trait};

use super::calls::Api;
use super::follow::Piece;
use super::{ResponseStream, directory, follow, status};
use crate::wire::upstream::step_runner_server::StepRunner;
use crate::wire::upstream::{
    CloseRequest, CloseResponse, FollowLogsRequest, FollowLogsResponse, Job, RunRequest,
    RunResponse, StatusRequest, StatusResponse, Variable,
};
use crate::wire::v1;

/// Translates calls to [`Api`].
#[derive(Clone)]
pub(crate) struct Upstream(pub(crate) Api);

#[async_trait]
impl StepRunner for Upstream {
    async fn run(&self, call: Call<RunRequest>) -> Result<Response<RunResponse>, Status> {
        self.0.0.run(translated(call.into_inner())).await?;
        Ok(Response::new(RunResponse {}))
    }

    async fn close(&self, call: Call<CloseRequest>) -> Result<Response<CloseResponse>, Status> {
        let id = call.into_inner().id;
        directory::check_id(&id)?;
        self.0.0.finish(&id).await;
        Ok(Response::new(CloseResponse {}))
    }

    type FollowLogsStream = ResponseStream<FollowLogsResponse>;

    async fn follow_logs(
        &self,
        call: Call<FollowLogsRequest>,
    ) -> Result<Response<Self::FollowLogsStream>, Status> {
        let FollowLogsRequest { id, offset } = call.into_inner();
        let request = self.0.0.table.find(&id)?;
        let message = |piece: Piece| FollowLogsResponse { data: piece.bytes };
        Ok(Response::new(follow::logs(request, offset, message)?))
    }

    async fn status(&self, call: Call<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let id = call.into_inner().id;
        let requests = match id.as_str() {
            "" => self.0.0.table.all(),
            id => vec![self.0.0.table.find(id)?],
        };
        let jobs = requests
            .iter()
            .map(|request| status::upstream_status(request));
        Ok(Response::new(StatusResponse {
            jobs: jobs.collect(),
        }))
    }
}

/// Translates a request to our own package.
fn translated(message: RunRequest) -> v1::RunRequest {
    let RunRequest {
        id,
        work_dir,
        env,
        job,
        steps,
    } = message;
    v1::RunRequest {
        id,
        work_dir,
        env,
        steps,
        job: job.map(
            |Job {
                 variables,
                 build_dir,
             }| v1::Job {
                variables: variables.into_iter().map(variable).collect(),
                build_dir,
                ..v1::Job::default()
            },
        ),
        ..v1::RunRequest::default()
    }
}

fn variable(variable: Variable) -> v1::Variable {
    let Variable {
        key,
        value,
        file,
        masked,
    } = variable;
    v1::Variable {
        key,
        value,
        file,
        masked,
        ..v1::Variable::default()
    }
}
