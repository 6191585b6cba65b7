//! The runner as a whole: its entries, their deliveries, and its end.

use crate::api::{Server, ServerOptions};
use crate::config::{RunnerSettings, Settings};
use crate::debug::{DebugState, JobList, ListenAddress, follow_settings};
use crate::delivery::{Delivery, DeliveryTimes};
use crate::entry::{Entry, EntryContext};
use crate::metrics::Metrics;
use crate::object_cache::ObjectBucket;
use crate::outbox::{JobEnd, JobFiles, JobRecord, LeftJob, Outbox, OutboxError};
use crate::process_context::ProcessContext;
use crate::process_state::ProcessState;
use crate::rotation::{NewToken, TokenStore, is_due, rotate};
use crate::slots::Slots;
use executor_core::ability::ResumeHandle;
use executor_core::{
    CancelCause, Cancellation, ExecutorProvider, FailureReason, JobSlots, StopLevel,
};
use jiff::Timestamp;
use job_runner::LocalCaches;
use parking_lot::Mutex;
use process::Supervisor;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use web::{Identity, Proxies, WebError};

/// Makes the executors of runners. The binary knows them, this crate does not.
pub trait Executors: Send + Sync + Debug {
    /// Returns the provider for a runner.
    ///
    /// # Errors
    ///
    /// A text that names the wrong setting.
    fn provider(&self, settings: &RunnerSettings) -> Result<Arc<dyn ExecutorProvider>, String>;
}

/// How a [`Manager`] works.
#[derive(Debug)]
pub struct ManagerOptions {
    /// The executors.
    pub executors: Arc<dyn Executors>,
    /// Where new tokens are kept; without it tokens are not replaced before they expire.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// The directory for jobs that the server does not know the end of yet.
    pub outbox: PathBuf,
    /// The identity of this machine, see [`system_id`](crate::system_id()).
    pub system_id: String,
    /// Runs the processes of jobs.
    pub supervisor: Supervisor,
    /// The program that acts as `gitlab-runner` in environments of this host.
    pub helper: Option<PathBuf>,
    /// The caches of jobs on this host.
    pub caches: LocalCaches,
    /// The proxies to GitLab.
    pub proxies: Proxies,
    /// How often deliveries call their server.
    pub times: DeliveryTimes,
    /// The metrics, with the same identity and version.
    pub metrics: Metrics,
    /// The version of the program.
    pub version: String,
    /// Its commit.
    pub revision: String,
}

/// The error of a manager.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The outbox cannot be used.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// Metrics cannot be served on `listen_address`.
    #[error("listen on {address} for metrics")]
    Listen {
        /// The address.
        address: ListenAddress,
        /// The system's error.
        source: io::Error,
    },
}

/// Takes jobs for all `[[runners]]` and runs them.
#[derive(Debug)]
pub struct Manager {
    process: Arc<ProcessContext>,
    executors: Arc<dyn Executors>,
    tokens: Option<Arc<dyn TokenStore>>,
    proxies: Proxies,
    deliveries: mpsc::UnboundedReceiver<Delivery>,
    settings: Settings,
    servers: HashMap<ServerKey, Server>,
    entries: HashMap<EntryKey, RunningEntry>,
    /// Until the entries start.
    left: Vec<LeftJob>,
    tasks: JoinSet<()>,
    state: watch::Sender<ProcessState>,
    /// Until the manager runs.
    debug_listener: Option<TcpListener>,
    debug_address: watch::Sender<Option<ListenAddress>>,
}

/// The end of a process in favor of another one, such as a newer version.
#[derive(Debug, Clone)]
pub struct Handover(Arc<ProcessContext>);

impl Handover {
    /// Returns whether all jobs that run can be taken over, if the process exits now and runs no destructor. So it must have been
    /// stopped before, or it may accept another job meanwhile.
    pub fn is_possible(&self) -> bool {
        self.0.may_leave_jobs()
    }

    /// Returns whether jobs run.
    pub fn has_jobs(&self) -> bool {
        !self.0.notes.lock().is_empty()
    }
}

/// How often the age of tokens is looked at.
const ROTATION: Duration = Duration::from_mins(1);

/// A runner with its old token, and the new one.
type Rotated = (Arc<RunnerSettings>, Option<NewToken>);

/// How long the server on `listen_address` may take to end.
const END_OF_DEBUG: Duration = Duration::from_secs(1);

/// What tells servers apart: address and certificates.
type ServerKey = (String, Option<PathBuf>, Option<PathBuf>);

/// What tells entries apart: server and token.
type EntryKey = (String, String);

#[derive(Debug)]
struct RunningEntry {
    settings: Arc<RunnerSettings>,
    stop: Cancellation,
    numbers: JobSlots,
}

impl Manager {
    /// Returns a manager for these settings. Jobs that earlier processes left are delivered once it runs.
    ///
    /// # Errors
    ///
    /// When another process has the outbox, or it cannot be created; or when `listen_address` cannot be used.
    pub fn new(settings: Settings, options: ManagerOptions) -> Result<Self, ManagerError> {
        let (sender, deliveries) = mpsc::unbounded_channel();
        let metrics = options.metrics;
        metrics.slots(0, settings.concurrent);
        let debug_address = settings.listen_address.clone();
        let debug_listener = debug_address.as_ref().map(listen).transpose()?;
        let process = ProcessContext {
            slots: Slots::new(settings.concurrent),
            outbox: Outbox::open(&options.outbox)?,
            times: options.times,
            system_id: options.system_id,
            version: options.version,
            revision: options.revision,
            labels: settings.labels.clone(),
            helper: options.helper,
            caches: options.caches,
            supervisor: options.supervisor,
            job_list: JobList::new(metrics.active().clone()),
            metrics,
            jobs: Cancellation::new(),
            deliveries: sender,
            asking: Arc::default(),
            taken: watch::Sender::default(),
            notes: Mutex::default(),
        };
        Ok(Self {
            process: Arc::new(process),
            executors: options.executors,
            tokens: options.tokens,
            proxies: options.proxies,
            deliveries,
            settings,
            servers: HashMap::new(),
            entries: HashMap::new(),
            left: Vec::new(),
            tasks: JoinSet::new(),
            state: watch::Sender::default(),
            debug_listener,
            debug_address: watch::Sender::new(debug_address),
        })
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.process.metrics
    }

    /// Returns the number of jobs that were taken, as it changes.
    pub fn jobs_taken(&self) -> watch::Receiver<u64> {
        self.process.taken.subscribe()
    }

    /// Returns what says when this process may end for another one.
    pub fn handover(&self) -> Handover {
        Handover(Arc::clone(&self.process))
    }

    /// Returns the environments of jobs that an earlier process left and that [`run`](Self::run) takes over.
    pub fn left_environments(&self) -> Vec<ResumeHandle> {
        let left = self.process.outbox.left().into_iter();
        left.filter_map(|(files, _)| Some(files.left_job()?.1.handle))
            .collect()
    }

    /// Returns the address that metrics are served on, until a reload changes it.
    pub fn debug_address(&self) -> Option<SocketAddr> {
        self.debug_listener.as_ref()?.local_addr().ok()
    }

    /// Returns the data of the pages on `listen_address`, to serve them elsewhere with [`serve_debug`](crate::serve_debug).
    pub fn debug_state(&self) -> DebugState {
        DebugState {
            metrics: self.process.metrics.clone(),
            process: self.state.subscribe(),
            jobs: self.process.job_list.clone(),
        }
    }

    /// Runs until a stop: after a cancel, running jobs end in their own time; after an abort they are interrupted.
    ///
    /// `reload` has the settings to use from now on. Running jobs keep those that they started with.
    pub async fn run(mut self, stop: &Cancellation, mut reload: watch::Receiver<Option<Settings>>) {
        let mut debug = JoinSet::new();
        debug.spawn(follow_settings(
            self.debug_listener.take(),
            self.debug_address.subscribe(),
            self.debug_state(),
        ));
        self.sort_left();
        let mut rotations = JoinSet::new();
        self.rotate_due(&mut rotations);
        // At the start, before the old tokens are used.
        while let Some(done) = rotations.join_next().await {
            self.rotated(done.ok());
        }
        self.start_entries();
        for left in std::mem::take(&mut self.left) {
            self.deliver(left.files, left.record);
        }
        self.enter(ProcessState::Running);
        let mut posted = JoinSet::new();
        let mut look = interval(ROTATION);
        while !stop.is_canceled() {
            tokio::select! {
                _ = stop.canceled() => {}
                Some(delivery) = self.deliveries.recv() => { posted.spawn(delivery.run()); }
                Some(_) = posted.join_next(), if !posted.is_empty() => {}
                Some(done) = rotations.join_next(), if !rotations.is_empty() => {
                    self.rotated(done.ok());
                    self.start_entries();
                }
                _ = look.tick(), if rotations.is_empty() => self.rotate_due(&mut rotations),
                Ok(()) = reload.changed() => {
                    let settings = reload.borrow_and_update().clone();
                    if let Some(settings) = settings {
                        self.apply(settings);
                    }
                }
            }
        }
        self.enter(ProcessState::GracefulShutdown);
        for entry in self.entries.values() {
            entry.stop.cancel(CancelCause::Shutdown);
        }
        self.wind_down(stop, posted).await;
        // Its sender of addresses is dropped now, so it ends, unless it waits for a name server.
        let _ = timeout(END_OF_DEBUG, debug.join_next()).await;
    }

    fn enter(&self, state: ProcessState) {
        self.process.metrics.state(state);
        self.state.send_replace(state);
    }

    /// Waits for jobs and deliveries, and interrupts the jobs at an abort.
    async fn wind_down(mut self, stop: &Cancellation, mut posted: JoinSet<()>) {
        let grace = self.settings.shutdown_timeout;
        let mut tasks = std::mem::take(&mut self.tasks);
        let process = Arc::clone(&self.process);
        let jobs = &process.jobs;
        while !tasks.is_empty() || !posted.is_empty() {
            if stop.level() == StopLevel::Abort && !jobs.is_aborted() {
                self.enter(ProcessState::ForcefulShutdown);
                jobs.abort(CancelCause::Shutdown);
            }
            let is_last = jobs.is_aborted() || tasks.is_empty();
            let event = async {
                tokio::select! {
                    _ = stop.aborted(), if !jobs.is_aborted() => true,
                    Some(delivery) = self.deliveries.recv() => { posted.spawn(delivery.run()); true }
                    Some(_) = tasks.join_next(), if !tasks.is_empty() => true,
                    Some(_) = posted.join_next(), if !posted.is_empty() => true,
                    else => false,
                }
            };
            // A job may take as long as it likes, unless it is interrupted; its delivery is on disk.
            let went_on = if is_last {
                timeout(grace, event).await.unwrap_or(false)
            } else {
                event.await
            };
            if !went_on {
                break;
            }
        }
        if !posted.is_empty() {
            tracing::warn!(
                "{} ended jobs were not sent yet; the next start sends them.",
                posted.len()
            );
        }
    }

    /// Starts to replace the tokens whose time has come.
    fn rotate_due(&mut self, rotations: &mut JoinSet<Rotated>) {
        let Some(tokens) = self.tokens.clone() else {
            return;
        };
        let now = Timestamp::now();
        let due = self.settings.runners.iter().filter(|it| is_due(it, now));
        for settings in due.cloned().collect::<Vec<_>>() {
            let Ok(server) = self.server(&settings) else {
                continue;
            };
            let (settings, tokens) = (Arc::new(settings), Arc::clone(&tokens));
            rotations.spawn(async move {
                let new = rotate(server, Arc::clone(&settings), tokens).await;
                (settings, new)
            });
        }
    }

    /// Uses a new token.
    fn rotated(&mut self, done: Option<Rotated>) {
        let Some((old, Some(new))) = done else {
            return;
        };
        let mut runners = self.settings.runners.iter_mut();
        let is_same =
            |it: &&mut RunnerSettings| it.url == old.url && it.config.token == old.config.token;
        if let Some(settings) = runners.find(is_same) {
            settings.config.token = new.token;
            settings.token_obtained_at = Some(new.obtained_at);
            settings.token_expires_at = new.expires_at;
        }
    }

    /// Uses other settings from now on.
    fn apply(&mut self, settings: Settings) {
        let process = &self.process;
        process.slots.resize(settings.concurrent);
        process
            .metrics
            .slots(self.settings.concurrent, settings.concurrent);
        self.debug_address
            .send_replace(settings.listen_address.clone());
        self.settings = settings;
        self.start_entries();
    }

    /// Starts entries that are new or changed, and stops those that are gone or changed.
    fn start_entries(&mut self) {
        let mut old = std::mem::take(&mut self.entries);
        for settings in self.settings.runners.clone() {
            let token = settings.config.token.expose().to_owned();
            let key = (settings.url.to_string(), token);
            let before = old.remove(&key);
            if let Some(entry) = before {
                if entry.settings.fingerprint == settings.fingerprint {
                    self.entries.insert(key, entry);
                    continue;
                }
                entry.stop.cancel(CancelCause::Shutdown);
                // Its name may be another one now.
                self.process.metrics.of(&entry.settings.config).end();
                self.start(key, settings, entry.numbers);
            } else {
                self.start(key, settings, JobSlots::new());
            }
        }
        for entry in old.values() {
            entry.stop.cancel(CancelCause::Shutdown);
            self.process.metrics.of(&entry.settings.config).end();
        }
    }

    fn start(&mut self, key: EntryKey, settings: RunnerSettings, numbers: JobSlots) {
        let name = settings.config.name.clone();
        let provider = match self.executors.provider(&settings) {
            Ok(provider) => provider,
            Err(error) => {
                tracing::error!(runner = %name, "The runner is left out: {error}");
                return;
            }
        };
        let server = match self.server(&settings) {
            Ok(server) => server,
            Err(error) => {
                tracing::error!(runner = %name, error = &error as &dyn Error, "The runner is left out.");
                return;
            }
        };
        let bucket = self.bucket(&settings);
        let is_own = |it: &mut LeftJob| {
            let LeftJob { record, .. } = it;
            record.server == settings.url.as_str()
                && record.runner == name
                && record.info.executor == settings.config.executor
        };
        let left = self.left.extract_if(.., is_own).collect();
        let settings = Arc::new(settings);
        let stop = Cancellation::new();
        let context = EntryContext::new(
            Arc::clone(&settings),
            provider,
            server,
            Arc::clone(&self.process),
            bucket,
        );
        context.metrics.begin(&settings);
        let entry = Entry {
            context: Arc::new(context),
            check_interval: self.settings.check_interval,
            numbers: numbers.clone(),
            left,
        };
        self.tasks.spawn(entry.run(stop.clone()));
        let running = RunningEntry {
            settings,
            stop,
            numbers,
        };
        self.entries.insert(key, running);
    }

    /// Returns the bucket of a runner's caches. A job can do without, so an error leaves them on this host.
    fn bucket(&self, settings: &RunnerSettings) -> Option<ObjectBucket> {
        let bucket = ObjectBucket::new(settings.cache.as_ref()?, self.proxies.clone());
        bucket
            .inspect_err(|error| {
                let name = &settings.config.name;
                tracing::error!(runner = %name, error = error as &dyn Error, "Caches stay on this host.");
            })
            .ok()
    }

    fn server(&mut self, settings: &RunnerSettings) -> Result<Server, WebError> {
        let key = (
            settings.url.to_string(),
            settings.tls_ca_file.clone(),
            settings.tls_cert_file.clone(),
        );
        let server = if let Some(server) = self.servers.get(&key) {
            server.clone()
        } else {
            let server = Server::new(server_options(settings, self.proxies.clone()))?;
            self.servers.insert(key, server.clone());
            server
        };
        Ok(server.counted(self.process.metrics.of(&settings.config)))
    }

    /// Keeps the jobs that earlier processes left for the entries that can take them over, and delivers the others.
    fn sort_left(&mut self) {
        for (files, record) in self.process.outbox.left() {
            match files.left_job() {
                Some((job, note)) => self.left.push(LeftJob {
                    files,
                    record,
                    job,
                    note,
                }),
                None => self.deliver(files, record),
            }
        }
    }

    /// Delivers a job that an earlier process left.
    fn deliver(&mut self, files: JobFiles, record: JobRecord) {
        let end = end_of_left(&files, &record);
        let settings = self.settings.runners.iter();
        let settings = settings.filter(|it| it.url.as_str() == record.server);
        // Any runner of the server will do, but its own metrics count the calls.
        let settings = settings.min_by_key(|it| it.config.name != record.runner);
        let Some(settings) = settings.cloned() else {
            tracing::error!(job = record.job, server = %record.server, "The end of a job cannot be sent: no runner names its server any more.");
            return;
        };
        match self.server(&settings) {
            Ok(server) => {
                // The sender is dropped at once; the end is there already.
                let (_, ended) = watch::channel(Some(end));
                let (times, job) = (self.process.times, Cancellation::new());
                let delivery = Delivery::new(server, files, record, job, ended, None, times);
                self.process.post(delivery);
            }
            Err(error) => {
                tracing::error!(
                    job = record.job,
                    error = &error as &dyn Error,
                    "The end of a job cannot be sent."
                );
            }
        }
    }
}

fn listen(address: &ListenAddress) -> Result<TcpListener, ManagerError> {
    address.bind().map_err(|source| ManagerError::Listen {
        address: address.clone(),
        source,
    })
}

/// Returns how a server is reached.
pub fn server_options(settings: &RunnerSettings, proxies: Proxies) -> ServerOptions {
    let identity = settings
        .tls_cert_file
        .clone()
        .zip(settings.tls_key_file.clone());
    ServerOptions {
        url: settings.url.clone(),
        authorities: settings.tls_ca_file.iter().cloned().collect(),
        identity: identity.map(|(certificate, key)| Identity { certificate, key }),
        proxies,
    }
}

/// Returns the end of a job of an earlier process: a job without one ended with that process.
fn end_of_left(files: &JobFiles, record: &JobRecord) -> JobEnd {
    if let Some(end) = files.end() {
        return end;
    }
    let path = files.log(record.job);
    let opened = OpenOptions::new().create(true).append(true).open(path);
    if let Ok(mut log) = opened {
        // The state alone has to do if the disk is full.
        let _ = writeln!(
            log,
            "\nERROR: Job failed (system failure): the runner was killed"
        );
    }
    let end = JobEnd::failed(FailureReason::RunnerSystemFailure);
    if let Err(error) = files.write_end(&end) {
        tracing::error!(
            job = record.job,
            error = &error as &dyn Error,
            "The end of a job is not on disk."
        );
    }
    end
}
