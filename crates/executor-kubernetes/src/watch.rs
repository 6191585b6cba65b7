//! One watch for all pods of this process.

use crate::pod::OWNER;
use crate::state::PodState;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// What is known of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The cluster has not told of it yet.
    Nothing,
    /// The API server refuses to tell, in these words.
    Refused(String),
    /// It is in this state.
    Pod(PodState),
    /// It is gone.
    Gone,
}

/// After how many seconds the API server ends a watch, which then begins again. A connection that is silent for a little longer is given up.
const SILENCE: u32 = 60;

type Pods = Arc<Mutex<HashMap<String, watch::Sender<Seen>>>>;

/// Watches the pods of one owner until it is dropped.
#[derive(Debug)]
pub(crate) struct PodWatch {
    pods: Pods,
    task: AbortHandle,
}

/// The view of one pod. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Followed {
    pods: Pods,
    name: String,
    pub(crate) seen: watch::Receiver<Seen>,
}

impl PodWatch {
    /// Starts to watch.
    pub(crate) fn start(api: Api<Pod>, owner: &str) -> Self {
        let pods = Pods::default();
        let labels = format!("{OWNER}={owner}");
        let known = Arc::clone(&pods);
        let watching = async move {
            let config = watcher::Config::default().labels(&labels).timeout(SILENCE);
            // It lists and watches again after errors, and when its place in the history is gone.
            let events = watcher(api, config).default_backoff();
            let mut events = std::pin::pin!(events);
            let mut listed = HashSet::new();
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init) => listed.clear(),
                    Ok(Event::InitApply(pod)) => {
                        listed.extend(pod.metadata.name.clone());
                        tell(&known, &pod);
                    }
                    Ok(Event::InitDone) => {
                        for (name, sender) in &*known.lock() {
                            let was_there = *sender.borrow() != Seen::Nothing;
                            if was_there && !listed.contains(name) {
                                sender.send_replace(Seen::Gone);
                            }
                        }
                    }
                    Ok(Event::Apply(pod)) => tell(&known, &pod),
                    Ok(Event::Delete(pod)) => {
                        let name = pod.metadata.name.unwrap_or_default();
                        if let Some(sender) = known.lock().get(&name) {
                            sender.send_replace(Seen::Gone);
                        }
                    }
                    Err(error) => {
                        tracing::debug!(%error, "The watch of the pods is interrupted.");
                        refuse(&known, &error);
                    }
                }
            }
        };
        // It ends with this value.
        #[expect(clippy::disallowed_methods, reason = "the handle aborts it on drop")]
        let task = tokio::spawn(watching).abort_handle();
        Self { pods, task }
    }

    /// Follows a pod, also one that is yet to be created.
    pub(crate) fn follow(&self, name: &str) -> Followed {
        let (sender, seen) = watch::channel(Seen::Nothing);
        self.pods.lock().insert(name.to_owned(), sender);
        Followed {
            pods: Arc::clone(&self.pods),
            name: name.to_owned(),
            seen,
        }
    }
}

/// Tells those that wait for a pod that they wait in vain, unless the permission comes.
fn refuse(pods: &Pods, error: &watcher::Error) {
    let (watcher::Error::InitialListFailed(kube::Error::Api(refusal))
    | watcher::Error::WatchStartFailed(kube::Error::Api(refusal))
    | watcher::Error::WatchError(refusal)) = error
    else {
        return;
    };
    if refusal.code != 403 {
        return;
    }
    for sender in pods.lock().values() {
        if *sender.borrow() == Seen::Nothing {
            sender.send_replace(Seen::Refused(refusal.message.clone()));
        }
    }
}

fn tell(pods: &Pods, pod: &Pod) {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    if let Some(sender) = pods.lock().get(name) {
        sender.send_replace(Seen::Pod(PodState::of(pod)));
    }
}

impl Drop for PodWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.pods.lock().remove(&self.name);
    }
}
