//! A server of S3 in this process, with a bucket in a directory, and faults at its front.

use crate::bench::PATIENCE;
use http::{Method, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use runner::config::{CacheBucket, CacheSettings, S3Bucket, S3Keys};
use s3s::Body;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// The key of the account.
pub(crate) const SECRET: &str = "wJalrXUtnFEMI-secret";
const ACCESS: &str = "AKIAIOSFODNN7EXAMPLE";
const BUCKET: &str = "caches";

/// A request as the server received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) range: Option<String>,
}

/// Answers in place of the server: for a request, the status to answer with.
type Fault = Box<dyn FnMut(&Seen) -> Option<StatusCode> + Send>;

struct Front {
    service: S3Service,
    seen: Mutex<Vec<Seen>>,
    /// Notified of each request.
    more: Notify,
    fault: Mutex<Option<Fault>>,
    /// Uploads of parts wait for it.
    parts: Semaphore,
}

/// The server; it ends when this is dropped.
pub(crate) struct S3Server {
    directory: TempDir,
    address: SocketAddr,
    front: Arc<Front>,
    _tasks: JoinSet<()>,
}

impl S3Server {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(directory.path().join(BUCKET)).expect("a bucket");
        let files = FileSystem::new(directory.path()).expect("a file system");
        let mut builder = S3ServiceBuilder::new(files);
        builder.set_auth(SimpleAuth::from_single(ACCESS, SECRET));
        let front = Arc::new(Front {
            service: builder.build(),
            seen: Mutex::default(),
            more: Notify::new(),
            fault: Mutex::default(),
            parts: Semaphore::new(Semaphore::MAX_PERMITS),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, Arc::clone(&front)));
        Self {
            directory,
            address,
            front,
            _tasks: tasks,
        }
    }

    /// Returns settings for the bucket.
    pub(crate) fn settings(&self) -> CacheSettings {
        Self::settings_at(&self.address.to_string())
    }

    /// Returns settings for a bucket at another server.
    pub(crate) fn settings_at(address: &str) -> CacheSettings {
        CacheSettings {
            bucket: CacheBucket::S3(S3Bucket {
                name: BUCKET.to_owned(),
                server: Some(address.to_owned()),
                region: "us-east-1".to_owned(),
                keys: Some(S3Keys {
                    access_key: ACCESS.into(),
                    secret_key: SECRET.into(),
                    session_token: "".into(),
                }),
                insecure: true,
                path_style: true,
                dual_stack: true,
                accelerate: false,
                encryption: None,
            }),
            path: "ci".to_owned(),
            shared: false,
            largest_archive: None,
        }
    }

    /// Returns the path of an object's bytes.
    pub(crate) fn object(&self, name: &str) -> PathBuf {
        self.directory.path().join(BUCKET).join(name)
    }

    /// Returns whether the server has parts of uploads that were neither completed nor abandoned.
    pub(crate) fn has_parts(&self) -> bool {
        let entries = std::fs::read_dir(self.directory.path()).expect("a directory");
        let mut names = entries.map(|it| it.expect("an entry").file_name());
        names.any(|it| it.to_string_lossy().contains("upload"))
    }

    /// Sets what is answered in place of the server.
    pub(crate) fn fault(&self, fault: impl FnMut(&Seen) -> Option<StatusCode> + Send + 'static) {
        *self.front.fault.lock() = Some(Box::new(fault));
    }

    /// Lets only so many uploads of parts through.
    pub(crate) fn let_parts(&self, count: usize) {
        self.front.parts.forget_permits(Semaphore::MAX_PERMITS);
        self.front.parts.add_permits(count);
    }

    /// Returns the requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.front.seen.lock().clone()
    }

    /// Waits until the requests so far are as wanted.
    pub(crate) async fn wait(&self, wanted: &str, is_so: impl Fn(&[Seen]) -> bool) {
        let waiting = async {
            loop {
                let more = self.front.more.notified();
                if is_so(&self.seen()) {
                    return;
                }
                more.await;
            }
        };
        let came = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(came.is_ok(), "waited for {wanted}: {:#?}", self.seen());
    }
}

async fn serve(listener: TcpListener, front: Arc<Front>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let front = Arc::clone(&front);
        connections.spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&front), request));
            let builder = auto::Builder::new(hyper_util::rt::TokioExecutor::new()).http1_only();
            let _ = builder
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    front: Arc<Front>,
    request: http::Request<hyper::body::Incoming>,
) -> Result<http::Response<Body>, Infallible> {
    let range = request.headers().get("range");
    let seen = Seen {
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        range: range.map(|it| it.to_str().expect("a text").to_owned()),
    };
    front.seen.lock().push(seen.clone());
    front.more.notify_waiters();
    let fault = front.fault.lock().as_mut().and_then(|fault| fault(&seen));
    if let Some(status) = fault {
        let mut response = http::Response::new(Body::empty());
        *response.status_mut() = status;
        return Ok(response);
    }
    if seen.query.contains("partNumber") {
        let permit = front.parts.acquire().await.expect("open");
        permit.forget();
    }
    let answered = front.service.call(request.map(Body::from)).await;
    Ok(answered.unwrap_or_else(|error| {
        let mut response = http::Response::new(Body::from(format!("{error:?}")));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }))
}
