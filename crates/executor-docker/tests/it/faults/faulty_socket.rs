//! A socket in front of the engine's that injects faults.

use crate::support::endpoints::socket;
use crate::support::test_transport::TestEndpoint;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The fault that is injected into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocketFault {
    /// The connection breaks before the engine receives the request.
    Before,
    /// The engine receives the request; the connection breaks before the response arrives.
    After,
    /// The engine receives the request; the response is not forwarded.
    Deaf,
    /// The engine receives the request after the client has left and this many other requests were sent.
    Late(usize),
    /// The engine receives the request after this many seconds.
    Slow(u64),
}

/// The state of all connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing is forwarded, and nothing is closed.
    Frozen,
}

#[derive(Debug)]
struct Plan {
    request: String,
    fault: SocketFault,
    times: usize,
}

#[derive(Debug)]
struct Shared {
    plans: Mutex<Vec<Plan>>,
    state: watch::Sender<State>,
    /// Counts the cuts of all connections.
    cuts: watch::Sender<usize>,
    /// Counts the requests that clients sent.
    requests: watch::Sender<usize>,
    /// Counts the injected faults.
    done: watch::Sender<usize>,
}

/// A faulty socket, closed on drop.
pub(super) struct FaultySocket {
    endpoint: TestEndpoint,
    _directory: tempfile::TempDir,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

impl FaultySocket {
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
            endpoint: TestEndpoint::to(&path),
            _directory: directory,
            shared,
            _tasks: tasks,
        }
    }

    /// Returns the address to connect to.
    pub(super) fn address(&self) -> String {
        self.endpoint.address().to_owned()
    }

    /// Injects a fault into this many requests. `request` is a method and a part of the path, separated by a space.
    pub(super) fn inject(&self, request: &str, fault: SocketFault, times: usize) {
        let request = request.to_owned();
        let plan = Plan {
            request,
            fault,
            times,
        };
        self.shared.plans.lock().push(plan);
    }

    /// Returns how many planned faults remain.
    pub(super) fn remaining_faults(&self) -> usize {
        let plans = self.shared.plans.lock();
        plans.iter().map(|plan| plan.times).sum()
    }

    /// Waits until this many faults were injected.
    pub(super) async fn done(&self, count: usize) {
        let mut done = self.shared.done.subscribe();
        done.wait_for(|done| *done >= count).await.unwrap();
    }

    /// Breaks all open connections.
    pub(super) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Stops or resumes forwarding.
    pub(super) fn freeze(&self, frozen: bool) {
        let state = if frozen { State::Frozen } else { State::Open };
        self.shared.state.send_replace(state);
    }
}

impl Shared {
    /// Returns the fault for data from a client. Clients send a request in one piece.
    fn fault_of(&self, sent: &[u8]) -> Option<SocketFault> {
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
        // A fault that drops the response counts when the response arrives: then the engine has acted on the request.
        if plan.fault != SocketFault::Deaf {
            self.done.send_modify(|done| *done += 1);
        }
        Some(plan.fault)
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
        // The sender lives as long as the socket.
        let _ = opened.wait_for(|state| *state == State::Open).await;
    };
    let (chosen, deaf) = watch::channel(None);
    let there = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(bytes @ 1..) = from_client.read(&mut buffer).await {
            let _ = state.wait_for(|state| *state == State::Open).await;
            shared.requests.send_modify(|requests| *requests += 1);
            let fault = shared.fault_of(&buffer[..bytes]);
            if fault == Some(SocketFault::Before) {
                return true;
            }
            if let Some(SocketFault::Slow(seconds)) = fault {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            } else if fault.is_some() {
                chosen.send_replace(fault);
            }
            if let Some(SocketFault::Late(others)) = fault {
                let mut gone = [0];
                let _ = from_client.read(&mut gone).await;
                let seen = *requests.borrow_and_update();
                let _ = requests.wait_for(|now| *now >= seen + others).await;
            }
            if to_engine.write_all(&buffer[..bytes]).await.is_err() {
                return true;
            }
            if matches!(fault, Some(SocketFault::Late(_))) {
                // Kept open, because closing tells the engine that the client has left.
                std::future::pending::<()>().await;
            }
        }
        // One direction may close while the other continues.
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
                Some(SocketFault::Deaf) if answered => {}
                Some(SocketFault::Deaf) => {
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
