//! The web terminal, as GitLab uses it: with the certificate and the header of the request for the job.

use crate::bench::{Bench, PATIENCE};
use executor_core::{BuildStage, CancelCause, FeaturesInfo};
use executor_testkit::{Directive, Gate, ScriptedProvider};
use futures_util::{SinkExt as _, StreamExt as _};
use gitlab_testkit::{Endpoint, JobServerState};
use runner::DeliveryTimes;
use runner::config::SessionServerSettings;
use serde_json::Value;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

pub(crate) type Socket = WebSocketStream<TlsStream<TcpStream>>;

pub(crate) fn bench() -> Bench {
    bench_until(Duration::from_mins(30))
}

fn bench_until(session_timeout: Duration) -> Bench {
    let mut bench = Bench::new();
    bench.settings.session_server = Some(SessionServerSettings {
        listen_address: "127.0.0.1:0".parse().expect("an address"),
        advertise_address: None,
        session_timeout,
    });
    bench
}

/// Queues a job that runs until the test ends it.
fn queue_waiting(bench: &Bench) -> u64 {
    let done = bench.dir.path().join("done");
    let wait = format!("until test -e {}; do sleep 0.05; done", done.display());
    bench.queue(&["echo begin", &wait])
}

fn end_script(bench: &Bench) {
    fs::write(bench.dir.path().join("done"), "").expect("a file");
}

/// Waits until the log has a text. It reads the file, since the server gets a piece each 3 seconds.
async fn wait_for_log(bench: &Bench, id: u64, text: &str) {
    let log = || {
        let jobs = fs::read_dir(bench.outbox()).into_iter().flatten().flatten();
        let logs = jobs.map(|it| it.path().join(format!("job-{id}-1.log")));
        let logs = logs.filter_map(|it| fs::read(it).ok());
        String::from_utf8_lossy(&logs.collect::<Vec<_>>().concat()).into_owned()
    };
    let written = async {
        while !log().contains(text) {
            tokio::task::yield_now().await;
        }
    };
    let came = timeout(PATIENCE, written).await;
    assert!(came.is_ok(), "waited for {text:?}: {}", log());
}

/// The session of a request for a job.
pub(crate) struct Client {
    address: String,
    pub(crate) path: String,
    pub(crate) authorization: String,
    pub(crate) protocol: String,
    tls: TlsConnector,
}

impl Client {
    /// Returns a client that knows what the first request said.
    pub(crate) fn new(bench: &Bench) -> Self {
        let calls = bench.server.calls();
        let request = calls.iter().find(|it| it.endpoint == Endpoint::Request);
        let session = request.expect("a request").field("session").clone();
        let text = |key: &str| session[key].as_str().expect(key).to_owned();
        let url = text("url");
        let url = url.strip_prefix("https://").expect("https");
        let (address, path) = url.split_once('/').expect("a path");
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(text("certificate").as_bytes());
        roots.add(certificate.expect("PEM")).expect("a certificate");
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            address: address.to_owned(),
            path: format!("/{path}/exec"),
            authorization: text("authorization"),
            protocol: "terminal.gitlab.com".to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
        }
    }

    pub(crate) async fn stream(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(&self.address).await.expect("a server");
        let (host, _) = self.address.rsplit_once(':').expect("a port");
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        self.tls.connect(name, stream).await.expect("trust")
    }

    /// Returns the status of the answer to these bytes.
    async fn status_of(&self, bytes: &[u8]) -> String {
        let mut stream = self.stream().await;
        // The server may have answered before it has read all.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let reading = stream.read_to_end(&mut answer);
        let _ = timeout(PATIENCE, reading).await.expect("an end");
        let answer = String::from_utf8_lossy(&answer);
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    pub(crate) async fn connect(&self) -> Result<Socket, StatusCode> {
        let stream = self.stream().await;
        let url = format!("wss://{}{}", self.address, self.path);
        let mut request = url.into_client_request().expect("an address");
        let headers = request.headers_mut();
        let mut set = |name: &'static str, value: &str| {
            headers.insert(name, value.parse().expect("a value"));
        };
        set("authorization", &self.authorization);
        if !self.protocol.is_empty() {
            set("sec-websocket-protocol", &self.protocol);
        }
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(answer)) => Err(answer.status()),
            Err(error) => panic!("no answer: {error}"),
        }
    }

    async fn terminal(&self) -> Socket {
        self.connect().await.expect("a terminal")
    }

    pub(crate) async fn refusal(&self) -> u16 {
        let refused = self.connect().await.expect_err("a refusal");
        refused.as_u16()
    }
}

async fn type_line(socket: &mut Socket, line: &str) {
    let message = Message::Binary(format!("{line}\n").into_bytes().into());
    socket.send(message).await.expect("a connection");
}

/// Returns what the terminal shows until `text`, or until its end.
async fn read_until(socket: &mut Socket, text: Option<&str>) -> String {
    let mut shown = Vec::new();
    let reading = async {
        while let Some(Ok(message)) = socket.next().await {
            if matches!(message, Message::Binary(_)) {
                shown.extend(message.into_data());
            }
            let so_far = String::from_utf8_lossy(&shown);
            if text.is_some_and(|text| so_far.contains(text)) {
                return;
            }
        }
        assert_eq!(text, None, "the terminal ended");
    };
    timeout(PATIENCE, reading).await.expect("it comes in time");
    String::from_utf8_lossy(&shown).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_keeps_its_job_until_it_is_closed() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let client = Client::new(&bench);
    let mut socket = client.terminal().await;
    type_line(&mut socket, "echo $((6*7))").await;
    read_until(&mut socket, Some("42")).await;
    assert_eq!(client.refusal().await, 423, "one terminal for each job");
    end_script(&bench);
    wait_for_log(&bench, id, "Terminal is connected, will time out in 30m").await;
    type_line(&mut socket, "echo $((6*111))").await;
    read_until(&mut socket, Some("666")).await;
    assert_eq!(bench.server.final_update(id), None);
    type_line(&mut socket, "exit").await;
    read_until(&mut socket, None).await;
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_terminal_can_be_opened_again() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let client = Client::new(&bench);
    let mut socket = client.terminal().await;
    socket.close(None).await.expect("a connection");
    read_until(&mut socket, None).await;
    drop(socket);
    // The shell of the first one ends meanwhile.
    let again = async {
        loop {
            match client.connect().await {
                Ok(socket) => return socket,
                Err(status) => assert_eq!(status, 423),
            }
        }
    };
    let mut socket = timeout(PATIENCE, again).await.expect("a terminal");
    type_line(&mut socket, "echo $((6*7))").await;
    read_until(&mut socket, Some("42")).await;
    drop(socket);
    end_script(&bench);
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.finish().await;
    bench.check();
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_is_closed_when_its_time_is_up() {
    let bench = bench_until(Duration::from_millis(1));
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let mut socket = Client::new(&bench).terminal().await;
    end_script(&bench);
    read_until(&mut socket, None).await;
    assert_eq!(bench.end_of(id).await["state"], "success");
    let log = bench.log(id);
    assert!(log.contains("the terminal was closed"), "{log}");
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_ends_with_a_canceled_job() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start_with(DeliveryTimes {
        cancel_check: Duration::from_millis(50),
        ..DeliveryTimes::default()
    });
    wait_for_log(&bench, id, "begin").await;
    let mut socket = Client::new(&bench).terminal().await;
    bench.server.set_job_status(id, "canceled");
    read_until(&mut socket, None).await;
    bench.end_of(id).await;
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_the_wait_and_keeps_the_result() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let mut socket = Client::new(&bench).terminal().await;
    end_script(&bench);
    wait_for_log(&bench, id, "Terminal is connected").await;
    runner.stop.abort(CancelCause::Shutdown);
    read_until(&mut socket, None).await;
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_are_refused() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let client = Client::new(&bench);
    let Client {
        path,
        authorization,
        address,
        ..
    } = &client;
    let headers = format!("host: runner\r\nauthorization: {authorization}\r\n");
    let check = async |request: String, expect: &str| {
        let status = client.status_of(request.as_bytes()).await;
        assert_eq!(status, expect, "{:?}", &request[..30.min(request.len())]);
    };
    check(format!("GET {path} HTTP/1.1\r\n{headers}\r\n"), "400").await;
    check(format!("POST {path} HTTP/1.1\r\n{headers}\r\n"), "400").await;
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-protocol: terminal.gitlab.com\r\nsec-websocket-key: short\r\n";
    check(
        format!("GET {path} HTTP/1.1\r\n{headers}{upgrade}\r\n"),
        "400",
    )
    .await;
    check("\0\u{7f}\r\n\r\n".to_owned(), "400").await;
    let long = "x".repeat(64 << 10);
    check(
        format!("GET {path} HTTP/1.1\r\n{headers}long: {long}\r\n\r\n"),
        "431",
    )
    .await;
    // Not TLS.
    let mut plain = TcpStream::connect(address).await.expect("a server");
    plain
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .expect("room");
    let _ = plain.read_to_end(&mut Vec::new()).await;
    drop(client.terminal().await);
    end_script(&bench);
    bench.end_of(id).await;
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn base64_is_a_subprotocol() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let mut client = Client::new(&bench);
    client.protocol = "base64.terminal.gitlab.com".to_owned();
    let mut socket = client.terminal().await;
    // `exit 3` and a line feed.
    let exit = Message::Text("ZXhpdCAzCg==".into());
    socket.send(exit).await.expect("a connection");
    let mut texts = 0;
    while let Some(Ok(message)) = timeout(PATIENCE, socket.next()).await.expect("an end") {
        texts += usize::from(message.is_text());
    }
    assert_ne!(texts, 0);
    end_script(&bench);
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_requests_are_refused() {
    let bench = bench();
    let id = queue_waiting(&bench);
    let runner = bench.start();
    wait_for_log(&bench, id, "begin").await;
    let client = || Client::new(&bench);
    let check = async |client: Client, expect: u16| {
        assert_eq!(client.refusal().await, expect, "{}", client.path);
    };
    for authorization in ["", "wrong"] {
        let authorization = authorization.to_owned();
        let wrong = Client {
            authorization,
            ..client()
        };
        check(wrong, 401).await;
    }
    for path in ["/", "/session/", "/session/0123/exec", "/exec"] {
        let path = path.to_owned();
        check(Client { path, ..client() }, 404).await;
    }
    let beside = |action: &str| client().path.replace("/exec", action);
    for action in ["/execute", "/exec/1", "/"] {
        let path = beside(action);
        check(Client { path, ..client() }, 404).await;
    }
    let path = beside("/proxy/build/8080/index.html");
    check(Client { path, ..client() }, 501).await;
    let protocol = "chat".to_owned();
    let other = Client {
        protocol,
        ..client()
    };
    check(other, 400).await;
    end_script(&bench);
    bench.end_of(id).await;
    check(client(), 404).await;
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_without_an_environment_has_no_terminal() {
    let provider = ScriptedProvider::new();
    provider.set_features(FeaturesInfo {
        session: true,
        terminal: true,
        ..FeaturesInfo::default()
    });
    let gate = Gate::new();
    let script = Directive::succeed().until(gate.clone());
    provider.on(BuildStage::script(), script);
    let mut bench = bench();
    bench.provider = Some(provider.shared());
    let id = bench.queue(&["true"]);
    let runner = bench.start();
    let is_accepted = |it: &JobServerState| it.count(Endpoint::UpdateRunning) > 0;
    bench.wait("an acknowledgment", is_accepted).await;
    assert_eq!(Client::new(&bench).refusal().await, 503);
    gate.open();
    assert_eq!(bench.end_of(id).await["state"], "success");
    runner.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_without_a_session_server_has_no_session() {
    let check = async |bench: Bench, has_session: bool| {
        let id = bench.queue(&["true"]);
        let runner = bench.start();
        bench.end_of(id).await;
        runner.finish().await;
        let calls = bench.server.calls();
        let request = calls.iter().find(|it| it.endpoint == Endpoint::Request);
        let request = request.expect("a request");
        let features = &request.field("info")["features"];
        assert_eq!(features["session"], has_session);
        assert_eq!(features["terminal"], has_session);
        assert_eq!(features["proxy"], false);
        assert_eq!(request.field("session") != &Value::Null, has_session);
    };
    check(Bench::new(), false).await;
    check(bench(), true).await;
    let mut without_terminals = bench();
    without_terminals.provider = Some(ScriptedProvider::new().shared());
    check(without_terminals, false).await;
}
