//! A service with scripted answers, valid or not. It runs nothing.

use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, Cancellation};
use futures_util::{Stream, StreamExt, stream};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use steps::wire::v1;
use steps::wire::v1::step_runner_server::{StepRunner, StepRunnerServer};
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::{Request, Response, Status, Streaming};
use tower_service::Service as _;

pub(crate) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;
pub(crate) type Make<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// The scripted answers. By default a request has succeeded without output.
#[derive(Clone)]
pub(crate) struct Liar {
    pub(crate) logs: Make<Answers<v1::FollowLogsResponse>>,
    pub(crate) status: Make<v1::Status>,
    pub(crate) steps: Make<Answers<v1::FollowStepsResponse>>,
    pub(crate) wishes: Make<Answers<v1::FollowWishesResponse>>,
    pub(crate) files: Make<Answers<v1::GetFilesResponse>>,
    /// The call that is never answered.
    pub(crate) silent: &'static str,
    /// Whether it accepts answers to host requests.
    pub(crate) knows_wishes: bool,
    /// The number of answers to host requests, accepted or not.
    pub(crate) granted: Arc<watch::Sender<usize>>,
    /// A counter for tests.
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) connections: Arc<Mutex<JoinSet<()>>>,
}

impl Liar {
    pub(crate) fn new() -> Self {
        let status = v1::Status {
            id: "1".to_owned(),
            finished: true,
            result: Some(v1::Result::default()),
            ..v1::Status::default()
        };
        Self {
            logs: Arc::new(|| these([])),
            status: Arc::new(move || status.clone()),
            steps: Arc::new(|| these([])),
            wishes: Arc::new(|| these([])),
            files: Arc::new(|| these([])),
            silent: "",
            knows_wishes: true,
            granted: Arc::default(),
            asked: Arc::default(),
            connections: Arc::default(),
        }
    }
}

impl fmt::Debug for Liar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Liar").finish_non_exhaustive()
    }
}

/// Sends these messages, and ends the stream.
pub(crate) fn these<T: Send + 'static>(all: impl IntoIterator<Item = T>) -> Answers<T> {
    let all: Vec<_> = all.into_iter().map(Ok).collect();
    Box::pin(stream::iter(all))
}

/// Sends these messages, and keeps the stream open.
pub(crate) fn only<T: Send + 'static>(all: impl IntoIterator<Item = T>) -> Answers<T> {
    Box::pin(these(all).chain(stream::pending()))
}

/// Sends nothing, and keeps the stream open.
pub(crate) fn pending<T: Send + 'static>() -> Answers<T> {
    Box::pin(stream::pending())
}

/// Sends a message for each number, without an end.
pub(crate) fn endless<T: Send + 'static>(say: impl Fn(u64) -> T + Send + 'static) -> Answers<T> {
    Box::pin(stream::iter(0..).map(move |number| Ok(say(number))))
}

impl Liar {
    async fn hears(&self, call: &str) {
        if self.silent == call {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl StepsConnector for Liar {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let (ours, theirs) = tokio::io::duplex(256 * 1024);
        let server = StepRunnerServer::new(self.clone());
        let answer = service_fn(move |call| {
            let mut server = server.clone();
            async move { server.call(call).await }
        });
        self.connections.lock().spawn(async move {
            let builder = http2::Builder::new(TokioExecutor::new());
            // The client observes the end.
            let _ = builder.serve_connection(TokioIo::new(theirs), answer).await;
        });
        Ok(Box::new(ours))
    }
}

#[async_trait]
impl StepRunner for Liar {
    async fn run(&self, _: Request<v1::RunRequest>) -> Result<Response<v1::RunResponse>, Status> {
        self.hears("run").await;
        Ok(Response::new(v1::RunResponse {}))
    }

    type FollowStepsStream = Answers<v1::FollowStepsResponse>;

    async fn follow_steps(
        &self,
        _: Request<v1::FollowStepsRequest>,
    ) -> Result<Response<Self::FollowStepsStream>, Status> {
        self.hears("follow_steps").await;
        Ok(Response::new((self.steps)()))
    }

    type FollowLogsStream = Answers<v1::FollowLogsResponse>;

    async fn follow_logs(
        &self,
        _: Request<v1::FollowLogsRequest>,
    ) -> Result<Response<Self::FollowLogsStream>, Status> {
        self.hears("follow_logs").await;
        Ok(Response::new((self.logs)()))
    }

    async fn finish(
        &self,
        _: Request<v1::FinishRequest>,
    ) -> Result<Response<v1::FinishResponse>, Status> {
        self.hears("finish").await;
        Ok(Response::new(v1::FinishResponse {}))
    }

    async fn status(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusResponse>, Status> {
        self.hears("status").await;
        Ok(Response::new(v1::StatusResponse {
            jobs: vec![(self.status)()],
        }))
    }

    async fn cancel(
        &self,
        _: Request<v1::CancelRequest>,
    ) -> Result<Response<v1::CancelResponse>, Status> {
        self.hears("cancel").await;
        Ok(Response::new(v1::CancelResponse {}))
    }

    async fn hello(
        &self,
        _: Request<v1::HelloRequest>,
    ) -> Result<Response<v1::HelloResponse>, Status> {
        self.hears("hello").await;
        Ok(Response::new(v1::HelloResponse::default()))
    }

    async fn put_files(
        &self,
        _: Request<Streaming<v1::PutFilesRequest>>,
    ) -> Result<Response<v1::PutFilesResponse>, Status> {
        Ok(Response::new(v1::PutFilesResponse {}))
    }

    type GetFilesStream = Answers<v1::GetFilesResponse>;

    async fn get_files(
        &self,
        _: Request<v1::GetFilesRequest>,
    ) -> Result<Response<Self::GetFilesStream>, Status> {
        Ok(Response::new((self.files)()))
    }

    async fn own(&self, _: Request<v1::OwnRequest>) -> Result<Response<v1::OwnResponse>, Status> {
        Ok(Response::new(v1::OwnResponse {}))
    }

    type FollowWishesStream = Answers<v1::FollowWishesResponse>;

    async fn follow_wishes(
        &self,
        _: Request<v1::FollowWishesRequest>,
    ) -> Result<Response<Self::FollowWishesStream>, Status> {
        self.hears("follow_wishes").await;
        Ok(Response::new((self.wishes)()))
    }

    async fn grant(
        &self,
        _: Request<v1::GrantRequest>,
    ) -> Result<Response<v1::GrantResponse>, Status> {
        self.granted.send_modify(|count| *count += 1);
        self.hears("grant").await;
        if !self.knows_wishes {
            return Err(Status::not_found("there is no such wish"));
        }
        Ok(Response::new(v1::GrantResponse {}))
    }
}

/// Accepts connections, sends at most a word, and never answers.
#[derive(Debug)]
pub(crate) struct Deaf {
    word: &'static str,
    kept: Mutex<Vec<DuplexStream>>,
}

impl Deaf {
    pub(crate) fn saying(word: &'static str) -> Self {
        Self {
            word,
            kept: Mutex::default(),
        }
    }
}

#[async_trait]
impl StepsConnector for Deaf {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let said = theirs.write_all(self.word.as_bytes()).await;
        said.map_err(|error| BuildError::system("test", "say it", error))?;
        self.kept.lock().push(theirs);
        Ok(Box::new(ours))
    }
}
