//! A socket before that of the engine, which does harm on request.

use crate::support::endpoints::socket;
use crate::support::test_transport::Road;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
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
    /// The engine sees it; its answer is not passed on.
    Deaf,
    /// Its client waits in vain; when he is gone, and there were this many other requests, the engine sees it.
    Late(usize),
    /// The engine sees it after so many seconds.
    Slow(u64),
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
    /// Counts what clients sent.
    requests: watch::Sender<usize>,
    /// Counts the harms that were done.
    done: watch::Sender<usize>,
}

/// The way to the engine; it ends with this.
pub(super) struct Way {
    road: Road,
    _directory: tempfile::TempDir,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl Way {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let shared = Arc::new(Shared {
            plans: Mutex::default(),
            state: watch::channel(State::Open).0,
            cuts: watch::channel(0).0,
            requests: watch::channel(0).0,
            done: watch::channel(0).0,
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
            road: Road::to(&path),
            _directory: directory,
            shared,
            _tasks: tasks,
        }
    }

    /// Returns its address.
    pub(super) fn address(&self) -> String {
        self.road.address().to_owned()
    }

    /// Breaks so many of the requests that begin with `method` and have `part` in their first line.
    pub(super) fn harm(&self, request: &str, harm: Harm, times: usize) {
        let request = request.to_owned();
        let plan = Plan {
            request,
            harm,
            times,
        };
        self.shared.plans.lock().push(plan);
    }

    /// Returns how many harms were not done yet.
    pub(super) fn to_come(&self) -> usize {
        let plans = self.shared.plans.lock();
        plans.iter().map(|plan| plan.times).sum()
    }

    /// Waits until so many harms were done.
    pub(super) async fn done(&self, harms: usize) {
        let mut done = self.shared.done.subscribe();
        done.wait_for(|done| *done >= harms).await.unwrap();
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
        let mut plans = self.plans.lock();
        let plan = plans.iter_mut().find(|plan| {
            let mut words = plan.request.split(' ');
            let (method, part) = (words.next(), words.next());
            plan.times > 0
                && method.is_some_and(|method| line.starts_with(method))
                && part.is_some_and(|part| line.contains(part))
        })?;
        plan.times -= 1;
        // The engine has done what a deaf client asked for when its answer comes.
        if plan.harm != Harm::Deaf {
            self.done.send_modify(|done| *done += 1);
        }
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
    let mut requests = shared.requests.subscribe();
    let mut opened = shared.state.subscribe();
    let mut open = async move || {
        // The sender lives as long as the way.
        let _ = opened.wait_for(|state| *state == State::Open).await;
    };
    let (told, deaf) = watch::channel(None);
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(bytes @ 1..) = from_client.read(&mut buffer).await {
            let _ = state.wait_for(|state| *state == State::Open).await;
            shared.requests.send_modify(|requests| *requests += 1);
            let harm = shared.harm_of(&buffer[..bytes]);
            if harm == Some(Harm::Before) {
                return true;
            }
            if let Some(Harm::Slow(seconds)) = harm {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            } else if harm.is_some() {
                told.send_replace(harm);
            }
            if let Some(Harm::Late(others)) = harm {
                let mut gone = [0];
                let _ = from_client.read(&mut gone).await;
                let seen = *requests.borrow_and_update();
                let _ = requests.wait_for(|now| *now >= seen + others).await;
            }
            if to_engine.write_all(&buffer[..bytes]).await.is_err() {
                return true;
            }
            if matches!(harm, Some(Harm::Late(_))) {
                // Whoever closes tells the engine that nobody wants it any more.
                std::future::pending::<()>().await;
            }
        }
        // A half may be closed while the other goes on.
        let _ = to_engine.shutdown().await;
        false
    };
    let back = async {
        let mut buffer = vec![0; 64 << 10];
        let mut answered = false;
        while let Ok(bytes @ 1..) = from_engine.read(&mut buffer).await {
            open().await;
            let deaf = *deaf.borrow();
            match deaf {
                Some(Harm::Deaf) if answered => {}
                Some(Harm::Deaf) => {
                    answered = true;
                    shared.done.send_modify(|done| *done += 1);
                }
                Some(_) => return,
                None if to_client.write_all(&buffer[..bytes]).await.is_err() => return,
                None => {}
            }
        }
    };
    tokio::pin!(there, back);
    tokio::select! {
        broken = &mut there => if !broken { back.await },
        () = &mut back => {}
    }
}
