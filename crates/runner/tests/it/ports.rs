//! Ports of a job's services, as GitLab reaches them through the session server.

use crate::bench::{Bench, PATIENCE, Running, job};
use crate::terminals::{Client, Socket, bench};
use async_trait::async_trait;
use executor_core::ability::{Connection, PortProxy};
use executor_core::{BuildError, BuildStage, Cancellation, FeaturesInfo, Retryability};
use executor_testkit::{Directive, Gate, ScriptedAbilities, ScriptedProvider};
use futures_util::stream::unfold;
use futures_util::{SinkExt as _, StreamExt as _};
use gitlab_testkit::Endpoint;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// The service `web`: the port 8080 echoes requests, 8081 echoes messages of websockets, 8082 does not speak HTTP, 8443 has
/// TLS, and 9000 has no listener.
#[derive(Debug, Default)]
struct Web {
    connections: Mutex<JoinSet<()>>,
}

impl Web {
    /// Waits until all connections have ended.
    async fn wait_until_left(&self) {
        let mut connections = std::mem::take(&mut *self.connections.lock());
        let ended = async { while connections.join_next().await.is_some() {} };
        timeout(PATIENCE, ended).await.expect("the connections end");
    }
}

#[async_trait]
impl PortProxy for Web {
    async fn connect(
        &self,
        service: &str,
        port: u16,
        _cancellation: &Cancellation,
    ) -> Result<Box<dyn Connection>, BuildError> {
        let (near, far) = duplex(1 << 10);
        let mut connections = self.connections.lock();
        match (service, port) {
            ("web", 8080) => connections.spawn(echo_requests(far)),
            ("web", 8081) => connections.spawn(echo_messages(far)),
            ("web", 8082) => connections.spawn(greet(far)),
            ("web", 9000) => {
                return Err(BuildError::System {
                    backend: "web",
                    message: "connect to the port".to_owned(),
                    source: None,
                    retry: Retryability::Temporary,
                });
            }
            _ => return Err(BuildError::config("no such service or port")),
        };
        Ok(Box::new(near))
    }
}

async fn echo_requests(stream: DuplexStream) {
    let answer = service_fn(|request: Request<Incoming>| async {
        let mut headers: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
            .collect();
        headers.sort();
        let seen = format!(
            "{} {} {}",
            request.method(),
            request.uri(),
            headers.join("; ")
        );
        let answer = Response::builder()
            .status(StatusCode::CREATED)
            .header("seen", seen)
            .header("connection", "private")
            .header("private", "of the service");
        Ok::<_, Infallible>(answer.body(request.into_body()).expect("an answer"))
    });
    let served = server::conn::http1::Builder::new();
    let _ = served.serve_connection(TokioIo::new(stream), answer).await;
}

async fn echo_messages(stream: DuplexStream) {
    let mut socket = accept_async(stream).await.expect("a websocket");
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() {
            socket.send(message).await.expect("a connection");
        }
    }
}

async fn greet(mut stream: DuplexStream) {
    let _ = stream.write_all(b"220 ready\r\n").await;
}

/// A job whose script waits for the end of the test.
struct Job {
    bench: Bench,
    runner: Running,
    web: Arc<Web>,
    id: u64,
    end: Gate,
}

impl Job {
    /// Starts a job, and waits until it has begun its script.
    async fn start() -> Self {
        Self::start_at(BuildStage::script()).await
    }

    /// Starts a job that waits at a stage.
    async fn start_at(stage: BuildStage) -> Self {
        let (begun, end) = (Gate::new(), Gate::new());
        let web = Arc::new(Web::default());
        let provider = ScriptedProvider::new();
        provider.set_features(FeaturesInfo {
            session: true,
            proxy: true,
            ..FeaturesInfo::default()
        });
        provider.set_abilities(ScriptedAbilities {
            port_proxy: Some(Arc::clone(&web) as Arc<dyn PortProxy>),
            ..ScriptedAbilities::default()
        });
        let entered = begun.clone();
        let waiting = Directive::succeed().doing(move || entered.open());
        provider.on(stage, waiting.until(end.clone()));
        let mut bench = bench();
        bench.provider = Some(provider.shared());
        let mut payload = job(&["true"]);
        payload["services"] = json!([{"name": "nginx", "alias": "proxied, web", "ports": [
            {"number": 8080, "protocol": "http", "name": "default_port"},
            {"number": 8443, "protocol": "https", "name": "secure"},
        ]}]);
        let id = bench.server.queue(payload);
        let runner = bench.start();
        let has_begun = timeout(PATIENCE, begun.passed()).await;
        has_begun.expect("the job begins");
        Self {
            bench,
            runner,
            web,
            id,
            end,
        }
    }

    /// Returns a client of the session's path, which ends in this.
    fn client(&self, path: &str) -> Client {
        let mut client = Client::new(&self.bench);
        client.path = client.path.replace("/exec", path);
        client.protocol = String::new();
        client
    }

    async fn end(self) {
        self.end.open();
        assert_eq!(self.bench.end_of(self.id).await["state"], "success");
        self.web.wait_until_left().await;
        self.runner.finish().await;
        self.bench.check();
    }
}

/// Sends a request with a body of pieces that the returned sender takes, and returns the head of the answer.
async fn send(client: &Client, method: &str) -> (Response<Incoming>, mpsc::Sender<&'static str>) {
    let (pieces, receiver) = mpsc::channel(1);
    let body = unfold(receiver, async |mut receiver| {
        let piece: &str = receiver.recv().await?;
        let frame = Frame::data(Bytes::from(piece));
        Some((Ok::<_, Infallible>(frame), receiver))
    });
    let request = Request::builder()
        .method(method)
        .uri(&client.path)
        .header("authorization", &client.authorization)
        .header("host", "runner.example.com")
        .header("connection", "x-private")
        .header("x-private", "of the connection")
        .header("x-public", "yes");
    let request = request.body(StreamBody::new(Box::pin(body)));
    let stream = TokioIo::new(client.stream().await);
    let connected = client::conn::http1::handshake(stream).await;
    let (mut sender, connection) = connected.expect("a connection");
    #[expect(clippy::disallowed_methods, reason = "it ends with the answer")]
    tokio::spawn(connection);
    let answer = timeout(PATIENCE, sender.send_request(request.expect("a request"))).await;
    (answer.expect("in time").expect("an answer"), pieces)
}

/// Returns the next piece of an answer; `None` at its end.
async fn next(answer: &mut Response<Incoming>) -> Option<Result<Bytes, hyper::Error>> {
    let frame = timeout(PATIENCE, answer.frame()).await.expect("in time")?;
    Some(frame.map(|it| it.into_data().expect("a piece")))
}

async fn say(socket: &mut Socket, text: &str) {
    let message = Message::Text(text.to_owned().into());
    socket.send(message).await.expect("a connection");
    let echo = timeout(PATIENCE, socket.next()).await.expect("in time");
    let echo = echo.expect("a message").expect("a connection");
    assert_eq!(echo.into_text().expect("a text").as_str(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_and_answer_pass_in_pieces() {
    let job = Job::start().await;
    let client = job.client("/proxy/web/8080/a%20b/?q=1&r");
    let (mut answer, pieces) = send(&client, "POST").await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    // Neither the token of the session nor headers for the connection.
    assert_eq!(
        answer.headers()["seen"],
        "POST /a%20b/?q=1&r host: web:8080; transfer-encoding: chunked; x-public: yes"
    );
    assert_eq!(answer.headers().get("private"), None);
    for piece in ["first", "second"] {
        pieces.send(piece).await.expect("a request");
        let echo = next(&mut answer).await.expect("a piece");
        assert_eq!(echo.expect("a connection"), piece);
    }
    drop(pieces);
    assert!(next(&mut answer).await.is_none());
    job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_have_names() {
    let job = Job::start().await;
    let (answer, _) = send(&job.client("/proxy/web/default_port"), "GET").await;
    assert_eq!(answer.status(), StatusCode::CREATED);
    let seen = answer.headers()["seen"].to_str().expect("text");
    assert!(seen.starts_with("GET / host: web:8080;"), "{seen}");
    for port in ["secure", "8443"] {
        let client = job.client(&format!("/proxy/web/{port}/"));
        assert_eq!(client.refusal().await, 501, "{port}");
    }
    job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn websocket_passes_both_ways() {
    let job = Job::start().await;
    let connected = job.client("/proxy/web/8081/chat").connect().await;
    let mut socket = connected.expect("a websocket");
    say(&mut socket, "one").await;
    say(&mut socket, "two").await;
    socket.close(None).await.expect("a connection");
    job.web.wait_until_left().await;
    job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_end_with_the_job() {
    let job = Job::start().await;
    let connected = job.client("/proxy/web/8081/").connect().await;
    let mut socket = connected.expect("a websocket");
    say(&mut socket, "one").await;
    let (mut answer, pieces) = send(&job.client("/proxy/web/8080/"), "POST").await;
    pieces.send("first").await.expect("a request");
    assert!(next(&mut answer).await.expect("a piece").is_ok());
    job.end().await;
    assert!(next(&mut answer).await.is_none_or(|it| it.is_err()));
    let ended = timeout(PATIENCE, socket.next()).await.expect("in time");
    assert!(ended.is_none_or(|it| it.is_err()), "no message");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_ports_have_places_of_their_own() {
    let job = Job::start().await;
    let client = job.client("/proxy/web/8081/");
    let mut sockets = Vec::new();
    // More than there may be connections that have opened nothing.
    for _ in 0..64 {
        sockets.push(client.connect().await.expect("a websocket"));
    }
    assert_eq!(client.refusal().await, 429);
    drop(sockets.pop());
    let again = async {
        loop {
            match client.connect().await {
                Ok(socket) => return socket,
                Err(status) => assert_eq!(status, 429),
            }
        }
    };
    let mut socket = timeout(PATIENCE, again).await.expect("a place");
    say(&mut socket, "one").await;
    job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_ports_are_refused() {
    let job = Job::start().await;
    let check = async |path: &str, expect: u16| {
        let (answer, _) = send(&job.client(path), "GET").await;
        assert_eq!(answer.status().as_u16(), expect, "{path}");
        assert_eq!(job.client(path).refusal().await, expect, "{path}");
    };
    for path in [
        "/proxy",
        "/proxy/",
        "/proxy/web",
        "/proxy/web/",
        "/proxy//80/",
    ] {
        check(path, 404).await;
    }
    check("/proxy/other/8080/", 404).await;
    check("/proxy/web/8079/", 404).await;
    for port in ["0", "65536", "-1", "unknown"] {
        check(&format!("/proxy/web/{port}/"), 400).await;
    }
    check("/proxy/web/8082/", 502).await;
    check("/proxy/web/9000/", 502).await;
    let mut stranger = job.client("/proxy/web/8081/");
    stranger.authorization = "wrong".to_owned();
    assert_eq!(stranger.refusal().await, 401);
    let features = job.bench.server.calls();
    let request = features.iter().find(|it| it.endpoint == Endpoint::Request);
    let info = request.expect("a request").field("info");
    assert_eq!(info["features"]["proxy"], true);
    job.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_without_an_environment_has_no_ports() {
    let job = Job::start_at(BuildStage::PrepareScript).await;
    assert_eq!(job.client("/proxy/web/8081/").refusal().await, 503);
    job.end().await;
}
