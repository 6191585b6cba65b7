//! The calls of package `runwright.steps.v1`.

use std::sync::Arc;

use executor_core::{CancelCause, StopLevel};
use tonic::{Request as Call, Response, Status, Streaming, async_trait};

use super::follow::Piece;
use super::shared::Shared;
use super::{ResponseStream, ask_host, directory, follow, shell, status};
use crate::files;
use crate::wire::v1::cancel_request::Level;
use crate::wire::v1::step_runner_server::StepRunner;
use crate::wire::v1::{
    CancelRequest, CancelResponse, FinishRequest, FinishResponse, FollowLogsRequest,
    FollowLogsResponse, FollowStepsRequest, FollowStepsResponse, FollowWishesRequest,
    FollowWishesResponse, GetFilesRequest, GetFilesResponse, GrantRequest, GrantResponse,
    HelloRequest, HelloResponse, OwnRequest, OwnResponse, PutFilesRequest, PutFilesResponse,
    RunRequest, RunResponse, StatusRequest, StatusResponse,
};

/// Handles the calls for a service.
#[derive(Clone)]
pub(crate) struct Api(pub(crate) Arc<Shared>);

#[async_trait]
impl StepRunner for Api {
    async fn run(&self, call: Call<RunRequest>) -> Result<Response<RunResponse>, Status> {
        self.0.run(call.into_inner()).await?;
        Ok(Response::new(RunResponse {}))
    }

    type FollowStepsStream = ResponseStream<FollowStepsResponse>;

    async fn follow_steps(
        &self,
        call: Call<FollowStepsRequest>,
    ) -> Result<Response<Self::FollowStepsStream>, Status> {
        let request = self.0.table.find(&call.into_inner().id)?;
        Ok(Response::new(follow::steps(request)))
    }

    type FollowLogsStream = ResponseStream<FollowLogsResponse>;

    async fn follow_logs(
        &self,
        call: Call<FollowLogsRequest>,
    ) -> Result<Response<Self::FollowLogsStream>, Status> {
        let FollowLogsRequest { id, offset } = call.into_inner();
        let request = self.0.table.find(&id)?;
        let message = |piece: Piece| FollowLogsResponse {
            data: piece.bytes,
            settled: piece.settled,
            open: piece.open,
        };
        Ok(Response::new(follow::logs(request, offset, message)?))
    }

    async fn finish(&self, call: Call<FinishRequest>) -> Result<Response<FinishResponse>, Status> {
        let id = call.into_inner().id;
        directory::check_id(&id)?;
        self.0.finish(&id).await;
        Ok(Response::new(FinishResponse {}))
    }

    async fn status(&self, call: Call<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let id = call.into_inner().id;
        let requests = match id.as_str() {
            "" => self.0.table.all(),
            id => vec![self.0.table.find(id)?],
        };
        if !id.is_empty() {
            for request in &requests {
                request.note_used();
            }
        }
        let jobs = requests.iter().map(|request| status::status(request));
        Ok(Response::new(StatusResponse {
            jobs: jobs.collect(),
        }))
    }

    async fn cancel(&self, call: Call<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        let message = call.into_inner();
        let level = match message.level() {
            Level::Unspecified | Level::Cancel => StopLevel::Cancel,
            Level::Abort => StopLevel::Abort,
        };
        let request = self.0.table.find(&message.id)?;
        request.stop(level, CancelCause::User);
        Ok(Response::new(CancelResponse {}))
    }

    async fn hello(&self, _call: Call<HelloRequest>) -> Result<Response<HelloResponse>, Status> {
        let home = self.0.context.environment.get("HOME");
        let shells = shell::present().into_iter().map(str::to_owned);
        Ok(Response::new(HelloResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            home: home.unwrap_or_default().to_string_lossy().into_owned(),
            shells: shells.collect(),
            instance: self.0.supervisor.id().to_owned(),
        }))
    }

    async fn put_files(
        &self,
        call: Call<Streaming<PutFilesRequest>>,
    ) -> Result<Response<PutFilesResponse>, Status> {
        let requests = &self.0.context.requests;
        files::put(call.into_inner(), self.0.options.longest_stall, requests).await?;
        Ok(Response::new(PutFilesResponse {}))
    }

    type GetFilesStream = ResponseStream<GetFilesResponse>;

    async fn get_files(
        &self,
        call: Call<GetFilesRequest>,
    ) -> Result<Response<Self::GetFilesStream>, Status> {
        let longest_stall = self.0.options.longest_stall;
        Ok(Response::new(files::get(call.into_inner(), longest_stall)?))
    }

    async fn own(&self, call: Call<OwnRequest>) -> Result<Response<OwnResponse>, Status> {
        files::own(call.into_inner()).await?;
        Ok(Response::new(OwnResponse {}))
    }

    type FollowWishesStream = ResponseStream<FollowWishesResponse>;

    async fn follow_wishes(
        &self,
        call: Call<FollowWishesRequest>,
    ) -> Result<Response<Self::FollowWishesStream>, Status> {
        let request = self.0.table.find(&call.into_inner().id)?;
        Ok(Response::new(ask_host::follow(request)))
    }

    async fn grant(&self, call: Call<GrantRequest>) -> Result<Response<GrantResponse>, Status> {
        let GrantRequest {
            id,
            number,
            outcome,
        } = call.into_inner();
        self.0
            .table
            .find(&id)?
            .host_requests
            .answer(number, outcome)?;
        Ok(Response::new(GrantResponse {}))
    }
}
