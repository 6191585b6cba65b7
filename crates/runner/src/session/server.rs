use super::access::{Session, Sessions};
use super::port::{PortPath, Tunnel, forward};
use super::refusal::{Answer, Refusal};
use super::terminal::{Encoding, OpenTerminal, SIZE};
use crate::config::SessionServerSettings;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SetOnce};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use web::Url;

/// The largest number of connections at a time without a terminal or a request to a port, which sessions limit.
const CONNECTIONS: usize = 32;

/// How long the TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long a client may take to send its request.
const REQUEST: Duration = Duration::from_secs(5);

/// How long a connection may last until its terminal is open, or its request to a port has come.
const CONNECTION: Duration = Duration::from_secs(30);

/// The largest head of a request, in bytes.
const LARGEST: usize = 16 << 10;

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

    /// Serves terminals and ports.
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
            connections.spawn(serve(stream, acceptor, sessions, permit));
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

/// Serves the one request of a connection, and what it opens. The permit is for a connection that has opened nothing yet.
async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    sessions: Sessions,
    permit: OwnedSemaphorePermit,
) {
    let tls = timeout(HANDSHAKE, acceptor.accept(stream)).await;
    let Ok(Ok(tls)) = tls else {
        return;
    };
    let exchange = Exchange {
        sessions,
        forwarding: SetOnce::new(),
        drivers: Mutex::default(),
        opened: Mutex::default(),
    };
    let answer = service_fn(|request| async {
        let answer = exchange.answer(request).await;
        let mut answer = answer.unwrap_or_else(Refusal::answer);
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
        }
        Ok::<_, Infallible>(answer)
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST)
        .max_buf_size(LARGEST)
        .serve_connection(TokioIo::new(tls), answer)
        .with_upgrades();
    let limit = async {
        if let Ok((session, _)) = timeout(CONNECTION, exchange.forwarding.wait()).await {
            drop(permit);
            session.closed.canceled().await;
        }
    };
    tokio::select! {
        // The client reports an error of the connection.
        served = served => if served.is_err() { return },
        () = limit => return,
    }
    let opened = exchange.opened.lock().take();
    match opened {
        Some(Opened::Terminal(terminal)) => terminal.run().await,
        Some(Opened::Tunnel(tunnel, session)) => tokio::select! {
            () = tunnel.run() => {}
            _ = session.closed.canceled() => {}
        },
        None => {}
    }
}

/// What an answer has opened, which lasts longer than the answer.
enum Opened {
    Terminal(OpenTerminal),
    Tunnel(Tunnel, Arc<Session>),
}

/// The request of a connection, and its answer.
struct Exchange {
    sessions: Sessions,
    /// The session of a request to a port, and the place that the request has there. Such an answer has no time limit.
    forwarding: SetOnce<(Arc<Session>, OwnedSemaphorePermit)>,
    /// Drives the connection to a service.
    drivers: Mutex<JoinSet<()>>,
    opened: Mutex<Option<Opened>>,
}

impl Exchange {
    async fn answer(&self, mut request: Request<Incoming>) -> Result<Answer, Refusal> {
        let path = request.uri().path().to_owned();
        let path = path.strip_prefix("/session/");
        let (id, action) = path
            .and_then(|it| it.split_once('/'))
            .ok_or_else(Refusal::not_found)?;
        let session = self.sessions.find(id).ok_or_else(Refusal::not_found)?;
        let authorization = request.headers().get(header::AUTHORIZATION);
        let authorization = authorization.map_or(&b""[..], HeaderValue::as_bytes);
        if !session.accepts(authorization) {
            return Err(Refusal(StatusCode::UNAUTHORIZED, "not authorized"));
        }
        if action == "exec" {
            let (terminal, answer) = open_terminal(&mut request, &session).await?;
            *self.opened.lock() = Some(Opened::Terminal(terminal));
            return Ok(answer);
        }
        let target = action.strip_prefix("proxy/").and_then(PortPath::parse);
        let target = target.ok_or_else(Refusal::not_found)?;
        let place = session.place().ok_or(Refusal(
            StatusCode::TOO_MANY_REQUESTS,
            "the job has too many connections to ports",
        ))?;
        // A connection has one request.
        let _ = self.forwarding.set((Arc::clone(&session), place));
        let (answer, tunnel) = forward(request, &session, target, &self.drivers).await?;
        *self.opened.lock() = tunnel.map(|it| Opened::Tunnel(it, session));
        Ok(answer)
    }
}

/// Opens the terminal that a request is for.
async fn open_terminal(
    request: &mut Request<Incoming>,
    session: &Arc<Session>,
) -> Result<(OpenTerminal, Answer), Refusal> {
    let offer = request.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let offer = offer.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let encoding = Encoding::of_offer(offer);
    let answer = create_response_with_body(request, || Either::Left(Full::default()));
    let Ok(mut answer) = answer else {
        let text = "expected a request for a websocket";
        return Err(Refusal(StatusCode::BAD_REQUEST, text));
    };
    let Some(encoding) = encoding else {
        let text = "expected the subprotocol terminal.gitlab.com or base64.terminal.gitlab.com";
        return Err(Refusal(StatusCode::BAD_REQUEST, text));
    };
    let terminal = session.access().and_then(|it| it.terminal);
    let terminal = terminal.ok_or_else(Refusal::no_environment)?;
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
