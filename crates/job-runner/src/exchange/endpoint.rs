//! A server on an address of this host, from which helper commands of one job fetch files and to which they send some.

use super::receive::{Receiver, Refusal};
use super::{Slots, Upload};
use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The largest number of connections at a time; a stage has one.
const CONNECTIONS: usize = 16;
/// How long a client may be silent, in its headers or between two pieces of a body.
const SILENCE: Duration = Duration::from_mins(1);
/// How long the rest of a refused body is read.
const REFUSED: Duration = Duration::from_secs(30);
/// How many bytes of a file are read at a time.
const PIECE: usize = 256 << 10;

/// The running server. It ends when it is dropped, or with [`Endpoint::close`].
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
}

/// What the connections know.
#[derive(Debug)]
pub(super) struct Shared {
    token: String,
    /// Where received files are written.
    spool: PathBuf,
    /// The largest size of an upload.
    largest: u64,
    slots: Mutex<Slots>,
}

impl Endpoint {
    /// Starts to listen on a free port of `address`.
    pub(super) async fn start(
        address: IpAddr,
        token: String,
        spool: PathBuf,
        largest: u64,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0)).await?;
        let shared = Arc::new(Shared {
            token,
            spool,
            largest,
            slots: Mutex::new(Slots::default()),
        });
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            tasks,
        })
    }

    /// Returns the address of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the job's token.
    pub(super) fn token(&self) -> &str {
        &self.shared.token
    }

    /// Replaces the files of the stage, and returns the former ones.
    pub(super) fn set(&self, slots: Slots) -> Slots {
        std::mem::replace(&mut self.shared.slots.lock(), slots)
    }

    /// Ends all connections.
    pub(super) async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Accepts connections until it is aborted, and with it all of them.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is free, for instance.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            serve(stream, shared).await;
            drop(permit);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let (refused, mut rest) = mpsc::channel::<Incoming>(1);
    let answer = service_fn(move |mut request| {
        let (shared, refused) = (Arc::clone(&shared), refused.clone());
        async move {
            let answer = shared.respond(&mut request).await;
            // A body that was received is at its end, and reading it does nothing.
            let _ = refused.try_send(request.into_body());
            Ok::<_, Infallible>(answer)
        }
    });
    // A connection that is closed while the client still sends is reset, and the client may not see the response (RFC 9112,
    // section 9.6). So what it sends is thrown away.
    let discard = async {
        while let Some(mut body) = rest.recv().await {
            let _ = timeout(REFUSED, async {
                while let Some(Ok(_)) = body.frame().await {}
            })
            .await;
        }
    };
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(SILENCE);
    tokio::select! {
        // The client reports an error of the connection.
        _ = server.serve_connection(TokioIo::new(stream), answer) => {}
        () = discard => {}
    }
}

type Answer = Response<BoxBody<Bytes, io::Error>>;

impl Shared {
    async fn respond(&self, request: &mut Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        if !self.is_authorized(request) {
            return refusal(&Refusal::Forbidden);
        }
        match *request.method() {
            Method::GET => {
                let file = self.slots.lock().downloads.get(&path).cloned();
                match file {
                    Some(file) => download(file).await,
                    None => refusal(&Refusal::NotFound),
                }
            }
            Method::PUT | Method::POST => {
                let name = self.slots.lock().uploads.get(&path).cloned();
                match name {
                    Some(name) => self.upload(request, name).await,
                    None => refusal(&Refusal::NotFound),
                }
            }
            _ => refusal(&Refusal::Method),
        }
    }

    /// Compares the token of a request, in its header or as the last part of its path, in constant time.
    fn is_authorized(&self, request: &Request<Incoming>) -> bool {
        let headers = request.headers();
        // Older runners send it as a private token.
        let header = headers.get("job-token").or(headers.get("private-token"));
        let header = header.map(HeaderValue::as_bytes);
        let part = || {
            request
                .uri()
                .path()
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .as_bytes()
        };
        let token = header.unwrap_or_else(part);
        blake3::hash(token) == blake3::hash(self.token.as_bytes())
    }

    async fn upload(&self, request: &mut Request<Incoming>, name: String) -> Answer {
        let kind = artifact_type(request.uri().query().unwrap_or_default());
        let receiver = Receiver {
            spool: &self.spool,
            largest: self.largest,
            silence: SILENCE,
        };
        match receiver.receive(request).await {
            Ok(file) => {
                let name = kind.unwrap_or(name);
                self.slots.lock().received.push(Upload { name, file });
                empty(StatusCode::CREATED)
            }
            Err(reason) => {
                if let Refusal::Disk(error) = &reason {
                    let (mut slots, error) = (self.slots.lock(), error.to_string());
                    // The command tries again.
                    if slots.unwritten.last() != Some(&error) {
                        slots.unwritten.push(error);
                    }
                }
                refusal(&reason)
            }
        }
    }
}

/// Returns the type of an artifact in a query.
fn artifact_type(query: &str) -> Option<String> {
    let mut pairs = query.split('&');
    let kind = pairs.find_map(|pair| pair.strip_prefix("artifact_type="))?;
    Some(kind.to_owned())
}

async fn download(path: PathBuf) -> Answer {
    let opened = async {
        let file = File::open(&path).await?;
        let length = file.metadata().await?.len();
        Ok::<_, io::Error>((file, length))
    };
    let Ok((file, length)) = opened.await else {
        return refusal(&Refusal::NotFound);
    };
    let pieces = stream::try_unfold(file, async |mut file| {
        let mut piece = vec![0; PIECE];
        let read = timeout(SILENCE, file.read(&mut piece)).await??;
        piece.truncate(read);
        Ok((read > 0).then(|| (Frame::data(Bytes::from(piece)), file)))
    });
    let mut answer = Response::new(BodyExt::boxed(StreamBody::new(pieces)));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_LENGTH, length.into());
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    answer
}

fn empty(status: StatusCode) -> Answer {
    let body = Full::from(format!("{{\"message\":\"{status}\"}}\n"));
    let mut answer = Response::new(body.map_err(|never| match never {}).boxed());
    *answer.status_mut() = status;
    answer
}

fn refusal(reason: &Refusal) -> Answer {
    empty(match reason {
        Refusal::Forbidden => StatusCode::FORBIDDEN,
        Refusal::NotFound => StatusCode::NOT_FOUND,
        Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
        Refusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Refusal::Invalid => StatusCode::BAD_REQUEST,
        Refusal::Late => StatusCode::REQUEST_TIMEOUT,
        Refusal::Disk(_) => StatusCode::INSUFFICIENT_STORAGE,
    })
}
