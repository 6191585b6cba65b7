//! A socket before that of the engine, which does harm on request.

use crate::support::way::socket;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    /// Its connection breaks before the engine sees it.
    Before,
    /// The engine sees it; its connection breaks before the answer is there.
    After,
}

/// What happens to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing is passed on any more, and nothing is closed.
    Frozen,
}

#[derive(Debug)]
struct Plan {
    request: String,
    harm: Harm,
    times: usize,
}

#[derive(Debug)]
struct Shared {
    plans: Mutex<Vec<Plan>>,
    state: watch::Sender<State>,
    /// Counts the cuts of all connections.
    cuts: watch::Sender<usize>,
}

/// The way to the engine; it ends with this.
pub(super) struct Way {
    directory: tempfile::TempDir,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Way {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("docker.sock")).unwrap();
        let shared = Arc::new(Shared {
            plans: Mutex::default(),
            state: watch::channel(State::Open).0,
            cuts: watch::channel(0).0,
        });
        let mut tasks = JoinSet::new();
        let served = Arc::clone(&shared);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(serve(Arc::clone(&served), client));
            }
        });
        Self {
            directory,
            shared,
            _tasks: tasks,
        }
    }

    /// Returns its address.
    pub(super) fn address(&self) -> String {
        format!("unix://{}/docker.sock", self.directory.path().display())
    }

    /// Breaks so many of the requests that begin with `method` and have `part` in their first line.
    pub(super) fn harm(&self, request: &str, harm: Harm, times: usize) {
        let request = request.to_owned();
        let plan = Plan {
            request,
            harm,
            times,
        };
        self.shared.plans.lock().unwrap().push(plan);
    }

    /// Returns how many harms were not done yet.
    pub(super) fn to_come(&self) -> usize {
        let plans = self.shared.plans.lock().unwrap();
        plans.iter().map(|plan| plan.times).sum()
    }

    /// Breaks all connections there are.
    pub(super) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Passes nothing on from now on, or goes on.
    pub(super) fn freeze(&self, frozen: bool) {
        let state = if frozen { State::Frozen } else { State::Open };
        self.shared.state.send_replace(state);
    }
}

impl Shared {
    /// Decides for what a client sends; a request is sent at once and not in pieces.
    fn harm_of(&self, sent: &[u8]) -> Option<Harm> {
        let line = sent.split(|byte| *byte == b'\r').next()?;
        let line = std::str::from_utf8(line).ok()?;
        let mut plans = self.plans.lock().unwrap();
        let plan = plans.iter_mut().find(|plan| {
            let mut words = plan.request.split(' ');
            let (method, part) = (words.next(), words.next());
            plan.times > 0
                && method.is_some_and(|method| line.starts_with(method))
                && part.is_some_and(|part| line.contains(part))
        })?;
        plan.times -= 1;
        Some(plan.harm)
    }
}

async fn serve(shared: Arc<Shared>, client: UnixStream) {
    let mut cuts = shared.cuts.subscribe();
    tokio::select! {
        () = pass(&shared, client) => {}
        _ = cuts.changed() => {}
    }
}

async fn pass(shared: &Shared, client: UnixStream) {
    let engine = UnixStream::connect(socket()).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    let mut state = shared.state.subscribe();
    let mut opened = shared.state.subscribe();
    let mut open = async move || {
        // The sender lives as long as the way.
        let _ = opened.wait_for(|state| *state == State::Open).await;
    };
    let (told, deaf) = watch::channel(false);
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(bytes @ 1..) = from_client.read(&mut buffer).await {
            let _ = state.wait_for(|state| *state == State::Open).await;
            let harm = shared.harm_of(&buffer[..bytes]);
            if harm == Some(Harm::Before) {
                return true;
            }
            if harm == Some(Harm::After) {
                told.send_replace(true);
            }
            if to_engine.write_all(&buffer[..bytes]).await.is_err() {
                return true;
            }
        }
        // A half may be closed while the other goes on.
        let _ = to_engine.shutdown().await;
        false
    };
    let back = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(bytes @ 1..) = from_engine.read(&mut buffer).await {
            open().await;
            if *deaf.borrow() || to_client.write_all(&buffer[..bytes]).await.is_err() {
                return;
            }
        }
    };
    tokio::pin!(there, back);
    tokio::select! {
        broken = &mut there => if !broken { back.await },
        () = &mut back => {}
    }
}
