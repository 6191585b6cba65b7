use super::access::{Session, Sessions};
use super::terminal::{Encoding, OpenTerminal, SIZE};
use crate::config::SessionServerSettings;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use rcgen::{CertificateParams, DnType, KeyPair};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use web::Url;

/// The largest number of connections without a terminal at a time.
const CONNECTIONS: usize = 32;

/// How long the TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long a client may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);

/// How long a connection may last until its terminal is open.
const CONNECTION: Duration = Duration::from_secs(30);

/// The largest head of a request, in bytes.
const LARGEST: usize = 16 << 10;

type Answer = Response<Full<Bytes>>;

/// The server of `[session_server]`.
#[derive(Debug)]
pub(crate) struct SessionServer {
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    sessions: Sessions,
}

impl SessionServer {
    /// Listens, with a new certificate for the address that GitLab connects to.
    ///
    /// # Errors
    ///
    /// When the address cannot be used.
    pub(crate) fn bind(settings: &SessionServerSettings) -> io::Result<Self> {
        let listener = settings.listen_address.bind()?;
        let port = listener.local_addr()?.port();
        let advertised = settings.advertise_address.clone();
        let url = advertised.or_else(|| settings.listen_address.https_url(port));
        let url = url.ok_or_else(|| io::Error::other("advertise_address is missing"))?;
        let (tls, certificate) = certificate(&url).map_err(io::Error::other)?;
        Ok(Self {
            listener,
            tls: Arc::new(tls),
            sessions: Sessions::new(url, certificate, settings.session_timeout),
        })
    }

    /// Returns the sessions of the server.
    pub(crate) fn sessions(&self) -> Sessions {
        self.sessions.clone()
    }

    /// Serves terminals.
    ///
    /// # Cancellation
    ///
    /// Runs until it is dropped, which ends all connections.
    pub(crate) async fn serve(self) {
        let listener = match tokio::net::TcpListener::from_std(self.listener) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::error!(error = &error as &dyn Error, "There is no session server.");
                return;
            }
        };
        let acceptor = TlsAcceptor::from(self.tls);
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = listener.accept().await else {
                // No descriptor is free, for instance.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (acceptor, sessions) = (acceptor.clone(), self.sessions.clone());
            connections.spawn(async move {
                let opened = timeout(CONNECTION, serve(stream, acceptor, sessions)).await;
                // There is one terminal for each job, so they need no limit.
                drop(permit);
                if let Ok(Some(terminal)) = opened {
                    terminal.run().await;
                }
            });
            while connections.try_join_next().is_some() {}
        }
    }
}

/// Makes a certificate for the host of an address. Returns it in PEM as well.
fn certificate(url: &Url) -> Result<(ServerConfig, String), Box<dyn Error + Send + Sync>> {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).to_owned();
    let key = KeyPair::generate()?;
    let mut about = CertificateParams::new(vec![host])?;
    about
        .distinguished_name
        .push(DnType::CommonName, "Runwright session server");
    let certificate = about.self_signed(&key)?;
    let key = PrivateKeyDer::try_from(key.serialize_der())?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok((config, certificate.pem()))
}

/// Serves the requests of a connection; returns the terminal that one of them opened.
async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    sessions: Sessions,
) -> Option<OpenTerminal> {
    let tls = timeout(HANDSHAKE, acceptor.accept(stream)).await;
    let tls = tls.ok()?.ok()?;
    let opened = Mutex::new(None);
    let (opened, sessions) = (&opened, &sessions);
    let answer = service_fn(|mut request: Request<Incoming>| async move {
        let answer = match open(&mut request, sessions).await {
            Ok((terminal, answer)) => {
                *opened.lock() = Some(terminal);
                answer
            }
            Err(refusal) => refusal.answer(),
        };
        Ok::<_, Infallible>(answer)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(tls), answer)
        .with_upgrades()
        .await;
    // The client reports an error of the connection.
    served.ok()?;
    opened.lock().take()
}

/// A status and its reason.
struct Refusal(StatusCode, &'static str);

impl Refusal {
    fn answer(self) -> Answer {
        let Self(status, text) = self;
        let mut answer = Response::new(Full::from(format!("{text}\n")));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        let kind = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, kind);
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        answer
    }
}

/// Opens the terminal that a request is for.
async fn open(
    request: &mut Request<Incoming>,
    sessions: &Sessions,
) -> Result<(OpenTerminal, Answer), Refusal> {
    let session = authorized(request, sessions)?;
    let offer = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let offer = offer.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let encoding = Encoding::of_offer(offer);
    let answer = create_response_with_body(request, Full::default);
    let Ok(mut answer) = answer else {
        let text = "expected a request for a websocket";
        return Err(Refusal(StatusCode::BAD_REQUEST, text));
    };
    let Some(encoding) = encoding else {
        let text = "expected the subprotocol terminal.gitlab.com or base64.terminal.gitlab.com";
        return Err(Refusal(StatusCode::BAD_REQUEST, text));
    };
    let Some(terminal) = session.terminal() else {
        let text = "the job has no environment for a terminal now";
        return Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let Some(connected) = session.connect() else {
        return Err(Refusal(StatusCode::LOCKED, "a terminal is open already"));
    };
    let shell = terminal.open(SIZE, &session.closed).await;
    let shell = shell.map_err(|error| {
        tracing::warn!(error = &error as &dyn Error, "A terminal was not opened.");
        let text = "the shell cannot be started";
        Refusal(StatusCode::SERVICE_UNAVAILABLE, text)
    })?;
    let protocol = HeaderValue::from_static(encoding.name());
    answer
        .headers_mut()
        .insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    let terminal = OpenTerminal {
        shell,
        upgrade: hyper::upgrade::on(request),
        encoding,
        connected,
    };
    Ok((terminal, answer))
}

/// Returns the session of a request for a terminal.
fn authorized(request: &Request<Incoming>, sessions: &Sessions) -> Result<Arc<Session>, Refusal> {
    let not_found = || Refusal(StatusCode::NOT_FOUND, "not found");
    let path = request.uri().path().strip_prefix("/session/");
    let (id, action) = path
        .and_then(|it| it.split_once('/'))
        .ok_or_else(not_found)?;
    let session = sessions.find(id).ok_or_else(not_found)?;
    let authorization = request.headers().get(header::AUTHORIZATION);
    let authorization = authorization.map_or(&b""[..], HeaderValue::as_bytes);
    if !session.accepts(authorization) {
        return Err(Refusal(StatusCode::UNAUTHORIZED, "not authorized"));
    }
    match action.split('/').next() {
        Some("exec") if action == "exec" => Ok(session),
        Some("proxy") => {
            let text = "ports of services are not reachable through this runner";
            Err(Refusal(StatusCode::NOT_IMPLEMENTED, text))
        }
        _ => Err(not_found()),
    }
}
