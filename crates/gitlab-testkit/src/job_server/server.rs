use super::clock::Clock;
use super::shared::Shared;
use super::state::{ArmedWatch, StoredFile};
use super::{Call, JobServerState, Rule, Upload, Watch, handle, violations};
use crate::Project;
use crate::server::{self, Running};
use crate::world::World;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::time;

/// GitLab's side of the runner protocol, on a loopback port until it is dropped.
///
/// A test queues job payloads, points a runner at [`JobServer::url`], and checks afterwards what the runner sent.
/// Every job is handed out once, to a runner with any token or with the token that the test names.
///
/// ```
/// use gitlab_testkit::{Endpoint, JobServer, Rule, Watch};
/// use serde_json::json;
///
/// let server = JobServer::start();
/// server.queue(json!({"id": 1, "token": "glcbt-secret"}));
/// server.rule(Rule::on(Endpoint::Trace).once().status(500));
/// server.watch(Watch::set_status("line 30", "canceling"));
/// // ... the runner runs ...
/// assert_eq!(server.violations(), Vec::<String>::new());
/// assert!(server.final_update(1).is_none());
/// ```
#[derive(Debug)]
pub struct JobServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    // Dropped first, so that no call arrives after the clock has stopped.
    running: Mutex<Option<Running>>,
    _clock: Clock,
}

impl JobServer {
    /// Starts a server without jobs.
    pub fn start() -> Self {
        Self::new(World::new(""))
    }

    pub(crate) fn new(world: World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let address = listener.local_addr().expect("it has an address");
        let known = world.origin.set(format!("http://{address}"));
        known.expect("a world is served once");
        let shared = Arc::new(Shared::new(Arc::new(world)));
        let router = handle::router(Arc::clone(&shared));
        Self {
            running: Mutex::new(Some(Running::start(router, listener, None))),
            _clock: Clock::start(&shared),
            shared,
            address,
        }
    }

    /// Returns its URL, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the socket address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening and cuts all connections; jobs, traces and recorded calls remain.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        // Dropped after the lock, because the drop waits for the server's thread.
        drop(running);
    }

    /// Listens again on the same address, after [`JobServer::stop`].
    ///
    /// # Panics
    ///
    /// If another process took its port in the meantime.
    pub fn resume(&self) {
        self.stop();
        let listener = server::bind_again(self.address).expect("its port is still free");
        let router = handle::router(Arc::clone(&self.shared));
        *self.running.lock() = Some(Running::start(router, listener, None));
    }

    /// Queues a job for any runner and returns its id; a known job is queued again with the new payload.
    ///
    /// # Panics
    ///
    /// If the payload has no `id` or no `token`.
    pub fn queue(&self, payload: Value) -> u64 {
        self.shared.change(|state| state.queue(payload, None))
    }

    /// Queues a job for the runner with this token.
    ///
    /// # Panics
    ///
    /// If the payload has no `id` or no `token`.
    pub fn queue_for(&self, token: &str, payload: Value) -> u64 {
        let runner = Some(token.to_owned());
        self.shared.change(|state| state.queue(payload, runner))
    }

    /// Holds job requests for up to this time, if the runner's `last_update` is current. By default, the server answers
    /// at once.
    pub fn hold(&self, time: Duration) {
        self.shared.change(|state| state.hold = time);
    }

    /// Queues a job again if its runner does not acknowledge it within this time.
    pub fn requeue_unacknowledged(&self, after: Duration) {
        self.shared
            .change(|state| state.requeue_after = Some(after));
    }

    /// Sets the seconds in `X-GitLab-Trace-Update-Interval`, which are 3 by default; `None` omits the header.
    pub fn trace_update_interval(&self, seconds: Option<u64>) {
        self.shared
            .change(|state| state.trace_update_interval = seconds);
    }

    /// Accepts only these runner tokens. By default, every token is accepted until it is revoked.
    pub fn accept_runners(&self, tokens: &[&str]) {
        let tokens: BTreeSet<String> = tokens.iter().map(|it| (*it).to_owned()).collect();
        self.shared
            .change(|state| state.runners.accepted = Some(tokens));
    }

    /// Revokes a runner token: calls with it are answered 403.
    pub fn revoke_runner(&self, token: &str) {
        self.shared
            .change(|state| state.runners.revoked.insert(token.to_owned()));
    }

    /// Sets the token that the next registration or reset returns.
    pub fn next_runner_token(&self, token: &str) {
        let token = token.to_owned();
        self.shared
            .change(|state| state.runners.next_tokens.push_back(token));
    }

    /// Adds the artifacts of a job, for jobs that depend on it.
    pub fn artifact(&self, job: u64, filename: &str, bytes: impl Into<Vec<u8>>) {
        let file = StoredFile {
            name: filename.to_owned(),
            bytes: bytes.into(),
        };
        self.shared
            .change(|state| state.artifacts.insert(job, file));
    }

    /// Creates a private project, or returns the existing one; running jobs can clone it with their tokens.
    pub fn project(&self, path: &str) -> Project {
        Project::of(&self.shared.world, path).private()
    }

    /// Adds a rule. The first rule that applies to a call decides.
    pub fn rule(&self, rule: Rule) {
        self.shared.change(|state| state.rules.push(rule));
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        self.shared.change(|state| state.rules.clear());
    }

    /// Adds a watch, which acts once for each job.
    pub fn watch(&self, watch: Watch) {
        let done = BTreeSet::new();
        self.shared
            .change(|state| state.watches.push(ArmedWatch { watch, done }));
    }

    /// Sets the `Job-Status` of a job in all coming answers, such as `canceling`.
    pub fn set_job_status(&self, job: u64, status: &str) {
        self.shared.change(|state| {
            if let Some(job) = state.jobs.get_mut(&job) {
                job.status = Some(status.to_owned());
            }
        });
    }

    /// Returns all calls in the order of their arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.read().calls.clone()
    }

    /// Returns the stored trace of a job.
    pub fn trace(&self, job: u64) -> Vec<u8> {
        self.shared.read().trace(job).to_vec()
    }

    /// Returns the accepted final update of a job.
    pub fn final_update(&self, job: u64) -> Option<Value> {
        self.shared.read().final_update(job).cloned()
    }

    /// Returns the accepted uploads of a job.
    pub fn uploads(&self, job: u64) -> Vec<Upload> {
        self.shared.read().uploads(job).to_vec()
    }

    /// Calls a function with the current state. The state is locked, so the function must not call the server.
    pub fn with_state<T>(&self, read: impl FnOnce(&JobServerState) -> T) -> T {
        read(&self.shared.read())
    }

    /// Blocks until the state fulfils a condition; returns false after `timeout`. The state is locked while the condition
    /// is checked, so it must not call the server.
    #[must_use]
    pub fn wait_until(
        &self,
        timeout: Duration,
        condition: impl Fn(&JobServerState) -> bool,
    ) -> bool {
        self.shared.wait_until(timeout, condition)
    }

    /// Waits until the state fulfils a condition; returns false after `timeout`.
    pub async fn wait_until_async(
        &self,
        timeout: Duration,
        condition: impl Fn(&JobServerState) -> bool,
    ) -> bool {
        let mut changes = self.shared.changes();
        let fulfilled = async {
            while !condition(&self.shared.read()) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        time::timeout(timeout, fulfilled).await.is_ok()
    }

    /// Returns the rules of the protocol that runners violated, one sentence for each violation:
    ///
    /// - pieces of a trace follow each other, and are sent again only after a refused or lost call;
    /// - no piece arrives after an accepted final update;
    /// - an acknowledged job has a final update, and only one state is reported;
    /// - the accepted final update has the size and checksum of the stored trace;
    /// - a job is handed out as often as it was queued.
    pub fn violations(&self) -> Vec<String> {
        violations::all(&self.shared.read())
    }
}
