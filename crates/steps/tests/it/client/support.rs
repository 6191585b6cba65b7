//! A service on a real socket, and connectors that break connections.

use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use executor_core::ability::{Connection, StepsConnector};
use executor_core::{BuildError, CancelCause, Cancellation};
use process::Stream;
use steps::{ClientOptions, RunId, RunSpec, Service, ServiceOptions, StepsClient};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A service for a test.
pub(crate) struct Served {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) service: Service,
    stop: Cancellation,
    serving: JoinSet<()>,
}

impl Served {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let service = Service::start(ServiceOptions::new(folder.path().join("state"))).unwrap();
        let mut served = Self {
            folder,
            service,
            stop: Cancellation::new(),
            serving: JoinSet::new(),
        };
        served.listen();
        served
    }

    fn listen(&mut self) {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let (service, stop) = (self.service.clone(), self.stop.clone());
        self.serving
            .spawn(async move { service.serve(listener, &stop).await.unwrap() });
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces the service and its state by a new one.
    pub(crate) async fn replace(&mut self) {
        self.end().await;
        std::fs::remove_file(self.socket()).unwrap();
        self.stop = Cancellation::new();
        let options = ServiceOptions::new(self.path("state"));
        self.service = Service::start(options).unwrap();
        self.listen();
    }

    pub(crate) async fn end(&mut self) {
        self.stop.cancel(CancelCause::Shutdown);
        while let Some(ended) = self.serving.join_next().await {
            ended.unwrap();
        }
    }

    pub(crate) fn client(&self) -> StepsClient {
        StepsClient::new(Arc::new(Way::to(self.socket())), quick())
    }

    pub(crate) fn run(&self, id: &str, script: &str) -> RunSpec {
        RunSpec {
            working_dir: self.path("work").display().to_string(),
            temp_dir: self.path("temp").display().to_string(),
            ..RunSpec::script(RunId::new(id), script)
        }
    }
}

/// Options of a client that does not wait long.
pub(crate) fn quick() -> ClientOptions {
    ClientOptions {
        first_back_off: Duration::from_millis(1),
        longest_back_off: Duration::from_millis(50),
        ..ClientOptions::default()
    }
}

/// Options of a client that drops no connection because the machine is busy.
pub(crate) fn trusting() -> ClientOptions {
    ClientOptions {
        keep_alive: Duration::from_mins(10),
        ..quick()
    }
}

/// A connector to a socket, which breaks connections by a plan.
#[derive(Debug)]
pub(crate) struct Way {
    socket: PathBuf,
    plan: Mutex<Plan>,
    /// Connections that must not reach the old service wait for it.
    pub(crate) is_replaced: CancellationToken,
    pub(crate) connections: AtomicUsize,
    pub(crate) cuts: Arc<AtomicUsize>,
}

/// The plan for the life of connections.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    ForEver,
    /// Until a random number of bytes has passed.
    Random(u64),
    /// The first one until this many bytes have arrived, after which it hangs; others are not broken.
    FirstHangs(usize),
    /// The first one until these words have arrived, after which it delivers nothing; others are not broken, once the
    /// service is replaced.
    FirstIsDeafAfter(&'static str),
}

impl Way {
    pub(crate) fn to(socket: impl AsRef<Path>) -> Self {
        Self::planned(socket, Plan::ForEver)
    }

    pub(crate) fn planned(socket: impl AsRef<Path>, plan: Plan) -> Self {
        Self {
            socket: socket.as_ref().to_owned(),
            plan: Mutex::new(plan),
            is_replaced: CancellationToken::new(),
            connections: AtomicUsize::new(0),
            cuts: Arc::default(),
        }
    }

    /// Returns whether the next connection must reach another service than the first one.
    fn waits(&self) -> bool {
        let is_later = self.connections.load(Ordering::Relaxed) > 0;
        is_later && matches!(*self.plan.lock(), Plan::FirstIsDeafAfter(_))
    }

    fn next_fate(&self) -> (Fate, usize) {
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        match &mut *self.plan.lock() {
            Plan::Random(state) => (Fate::Cut, random_length(state)),
            Plan::FirstHangs(bytes) if number == 0 => (Fate::Hang, *bytes),
            Plan::FirstIsDeafAfter(words) if number == 0 => (Fate::DeafAfter(words), usize::MAX),
            Plan::ForEver | Plan::FirstHangs(_) | Plan::FirstIsDeafAfter(_) => {
                (Fate::Cut, usize::MAX)
            }
        }
    }
}

/// Returns the next random number.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Short lives break connections while something starts or ends; long ones carry several pieces of a log.
fn random_length(state: &mut u64) -> usize {
    let longest = if random(state).is_multiple_of(3) {
        1_000
    } else {
        200_000
    };
    usize::try_from(random(state) % longest).unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Cut,
    Hang,
    DeafAfter(&'static str),
}

#[async_trait]
impl StepsConnector for Way {
    async fn connect(&self, _: &Cancellation) -> Result<Box<dyn Connection>, BuildError> {
        if self.waits() {
            self.is_replaced.cancelled().await;
        }
        let stream = UnixStream::connect(&self.socket).await;
        let stream = stream.map_err(|error| BuildError::system("test", "connect", error))?;
        let (fate, left) = self.next_fate();
        Ok(Box::new(Fated {
            stream,
            fate,
            left,
            deaf: false,
            is_cut: false,
            cuts: Arc::clone(&self.cuts),
        }))
    }
}

/// A connection with a limited life.
struct Fated {
    stream: UnixStream,
    fate: Fate,
    /// The number of bytes that may still pass.
    left: usize,
    /// Whether incoming bytes are withheld.
    deaf: bool,
    /// Whether it was broken; further calls do not count again.
    is_cut: bool,
    cuts: Arc<AtomicUsize>,
}

impl Fated {
    /// Returns the outcome instead of more bytes.
    fn over<T>(&mut self) -> Poll<io::Result<T>> {
        if self.fate == Fate::Hang {
            return Poll::Pending;
        }
        if !std::mem::replace(&mut self.is_cut, true) {
            self.cuts.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl AsyncRead for Fated {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.deaf {
            return Poll::Pending;
        }
        if self.left == 0 {
            return self.over();
        }
        let most = buffer.remaining().min(self.left);
        let mut bytes = vec![0; most];
        let mut part = ReadBuf::new(&mut bytes);
        let polled = Pin::new(&mut self.stream).poll_read(context, &mut part);
        let count = part.filled().len();
        buffer.put_slice(part.filled());
        self.left -= count;
        polled
    }
}

impl AsyncWrite for Fated {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.left == 0 {
            return self.over();
        }
        let most = bytes.len().min(self.left);
        let polled = Pin::new(&mut self.stream).poll_write(context, &bytes[..most]);
        if let Poll::Ready(Ok(count)) = &polled {
            self.left -= count;
        }
        if let Fate::DeafAfter(words) = self.fate {
            let mut said = bytes.windows(words.len());
            self.deaf |= said.any(|said| said == words.as_bytes());
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The output of a script.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Output {
    pub(crate) fn sink(&mut self) -> impl FnMut(Stream, &[u8]) + Send {
        |stream, bytes: &[u8]| {
            assert!(!bytes.is_empty() && bytes.len() <= 64 * 1024);
            match stream {
                Stream::Stdout => self.stdout.extend_from_slice(bytes),
                Stream::Stderr => self.stderr.extend_from_slice(bytes),
            }
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}
