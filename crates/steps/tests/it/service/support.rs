//! A service on a real socket, and a plain client from the generated code.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use executor_core::{CancelCause, Cancellation};
use hyper_util::rt::TokioIo;
use steps::wire::upstream::step_runner_client::StepRunnerClient as UpstreamClient;
use steps::wire::v1;
use steps::wire::v1::step_runner_client::StepRunnerClient;
use steps::{Service, ServiceOptions};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

/// The time limit for runs on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A very long grace: a process that is killed only after it counts as never killed.
pub(crate) fn long_grace() -> v1::Timing {
    v1::Timing {
        terminate_grace_ms: 600_000,
        ..v1::Timing::default()
    }
}

/// A service for a test.
pub(crate) struct Served {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) service: Service,
    pub(crate) client: StepRunnerClient<Channel>,
    stop: Cancellation,
    serving: JoinSet<()>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServiceOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = ServiceOptions::new(folder.path().join("state"));
        change(&mut options);
        let service = Service::start(options).unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let stop = Cancellation::new();
        let mut serving = JoinSet::new();
        let (server, stopped) = (service.clone(), stop.clone());
        serving.spawn(async move { server.serve(listener, &stopped).await.unwrap() });
        let channel = channel(folder.path().join("socket")).await;
        Self {
            folder,
            service,
            client: StepRunnerClient::new(channel),
            stop,
            serving,
        }
    }

    /// Returns a client with its own connection.
    pub(crate) async fn other_client(&self) -> StepRunnerClient<Channel> {
        StepRunnerClient::new(channel(self.folder.path().join("socket")).await)
    }

    /// Returns a client with GitLab Runner's protocol.
    pub(crate) async fn upstream(&self) -> UpstreamClient<Channel> {
        UpstreamClient::new(channel(self.folder.path().join("socket")).await)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a request with one script.
    pub(crate) fn request(&self, id: &str, script: &str) -> v1::RunRequest {
        v1::RunRequest {
            id: id.to_owned(),
            work_dir: self.path("work").display().to_string(),
            steps: steps_of(&[("script", script)]),
            quiet: true,
            ..v1::RunRequest::default()
        }
    }

    /// Runs a request, and returns its log and final status.
    pub(crate) async fn run(&mut self, request: v1::RunRequest) -> (String, v1::Status) {
        let id = request.id.clone();
        self.client.run(request).await.unwrap();
        let log = self.log(&id).await;
        (log, self.status(&id).await)
    }

    /// Follows the log of a request to its end, and returns it without timestamps.
    pub(crate) async fn log(&mut self, id: &str) -> String {
        let bytes = follow(&mut self.client, id, 0).await;
        plain(&bytes)
    }

    pub(crate) async fn status(&mut self, id: &str) -> v1::Status {
        let id = id.to_owned();
        let answer = self.client.status(v1::StatusRequest { id }).await.unwrap();
        let [status]: [v1::Status; 1] = answer.into_inner().jobs.try_into().unwrap();
        status
    }

    /// Waits until a request has a state.
    pub(crate) async fn until(
        &mut self,
        id: &str,
        wanted: impl Fn(&v1::Status) -> bool,
    ) -> v1::Status {
        let begin = Instant::now();
        loop {
            let status = self.status(id).await;
            if wanted(&status) {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "waited in vain: {status:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) async fn finish(&mut self, id: &str) {
        let id = id.to_owned();
        self.client.finish(v1::FinishRequest { id }).await.unwrap();
    }

    /// Shuts the service down, and returns the folder.
    pub(crate) async fn stop(mut self) -> tempfile::TempDir {
        self.stop.cancel(CancelCause::Shutdown);
        while let Some(ended) = self.serving.join_next().await {
            ended.unwrap();
        }
        self.folder
    }
}

/// Connects to a socket.
pub(crate) async fn channel(socket: PathBuf) -> Channel {
    let connector = tower_service_fn(socket);
    Endpoint::from_static("http://steps")
        .connect_with_connector(connector)
        .await
        .unwrap()
}

/// A connector to a socket.
#[derive(Clone)]
struct Socket(PathBuf);

fn tower_service_fn(socket: PathBuf) -> Socket {
    Socket(socket)
}

impl tower_service::Service<tonic::transport::Uri> for Socket {
    type Response = TokioIo<UnixStream>;
    type Error = std::io::Error;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(
        &mut self,
        _context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: tonic::transport::Uri) -> Self::Future {
        let path = self.0.clone();
        Box::pin(async move { Ok(TokioIo::new(UnixStream::connect(path).await?)) })
    }
}

/// Returns steps as in a request.
pub(crate) fn steps_of(steps: &[(&str, &str)]) -> String {
    let step = |(name, script): &(&str, &str)| serde_json::json!({"name": name, "script": script});
    let steps: Vec<_> = steps.iter().map(step).collect();
    serde_json::Value::Array(steps).to_string()
}

/// Follows the log of a request to its end, and returns its bytes.
pub(crate) async fn follow(
    client: &mut StepRunnerClient<Channel>,
    id: &str,
    offset: i64,
) -> Vec<u8> {
    let id = id.to_owned();
    let answer = client
        .follow_logs(v1::FollowLogsRequest { id, offset })
        .await;
    let mut pieces = answer.unwrap().into_inner();
    let mut log = Vec::new();
    while let Some(piece) = pieces.message().await.unwrap() {
        log.extend_from_slice(&piece.data);
    }
    log
}

/// Returns lines without their timestamps.
pub(crate) fn plain(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let mut lines = String::new();
    for line in text.lines() {
        lines.push_str(line.get(32..).unwrap_or_default());
        lines.push('\n');
    }
    lines
}

/// Waits until a file exists.
pub(crate) async fn until_there(path: &Path) {
    let begin = Instant::now();
    while !path.exists() {
        assert!(
            begin.elapsed() < PATIENCE,
            "waited in vain for {}",
            path.display()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns whether a process with these words in its command line still runs.
///
/// The process id is not enough: a killed process keeps it until it is reaped, and then it can be reused.
pub(crate) fn lives(pid: &str, words: &str) -> bool {
    let read =
        |file: &str| std::fs::read(format!("/proc/{}/{file}", pid.trim())).unwrap_or_default();
    let line = read("cmdline");
    String::from_utf8_lossy(&line)
        .replace('\0', " ")
        .contains(words)
}
