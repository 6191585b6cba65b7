//! The runner as a whole: its entries, their deliveries, and its end.

use crate::api::Server;
use crate::config::{RunnerSettings, Settings, fingerprint};
use crate::debug::{DebugState, JobList, ListenAddress, follow_settings};
use crate::delivery::{Delivery, DeliveryTimes};
use crate::entry::{Entry, EntryContext};
use crate::manager_error::{ManagerError, listen, serve_sessions};
use crate::metrics::Metrics;
use crate::object_cache::ObjectBucket;
use crate::outbox::{JobFiles, JobRecord, LeftJob, Outbox};
use crate::process_context::{Handover, ProcessContext};
use crate::process_state::ProcessState;
use crate::rotation::{NewToken, TokenStore, is_due, rotate};
use crate::server_key::{ServerKey, server_options};
use crate::session::SessionServer;
use crate::slots::{Slots, TurnCount};
use executor_core::ability::ResumeHandle;
use executor_core::{
    CancelCause, Cancellation, ExecutorProvider, FailureReason, JobSlots, StopLevel, chain,
};
use jiff::Timestamp;
use job_runner::LocalCaches;
use parking_lot::Mutex;
use process::Supervisor;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout, timeout_at};
use web::{Proxies, WebError};

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
    /// The stop of the process, and all providers that it used.
    stop: Cancellation,
    providers: Vec<Arc<dyn ExecutorProvider>>,
    tasks: JoinSet<()>,
    state: watch::Sender<ProcessState>,
    /// Until the manager runs.
    debug_listener: Option<TcpListener>,
    debug_address: watch::Sender<Option<ListenAddress>>,
    /// Until the manager runs.
    session_server: Option<SessionServer>,
}

/// How often the age of tokens is looked at.
const ROTATION: Duration = Duration::from_mins(1);

/// A runner with its old token, and the new one.
type Rotated = (Arc<RunnerSettings>, Option<NewToken>);

/// How long the server on `listen_address` may take to end.
const END_OF_DEBUG: Duration = Duration::from_secs(1);

/// How long jobs may take that end without their grace.
const END_OF_ABORT: Duration = Duration::from_secs(10);

/// How long calls that replace tokens may take at the end.
const END_OF_ROTATIONS: Duration = Duration::from_mins(1);

/// What tells entries apart: server and token.
type EntryKey = (String, String);

#[derive(Debug)]
struct RunningEntry {
    settings: Arc<RunnerSettings>,
    server: ServerKey,
    provider: Arc<dyn ExecutorProvider>,
    stop: Cancellation,
    numbers: JobSlots,
    turns: TurnCount,
}

impl Manager {
    /// Returns a manager for these settings. Jobs that earlier processes left are delivered once it runs.
    ///
    /// # Errors
    ///
    /// When another process has the outbox, or it cannot be created; or when a `listen_address` cannot be used.
    pub fn new(settings: Settings, options: ManagerOptions) -> Result<Self, ManagerError> {
        // First: a second process that uses the same file has the same addresses, too.
        let outbox = Outbox::open(&options.outbox)?;
        let (sender, deliveries) = mpsc::unbounded_channel();
        let metrics = options.metrics;
        metrics.slots(0, settings.concurrent);
        let debug_address = settings.listen_address.clone();
        let debug_listener = debug_address.as_ref().map(listen).transpose()?;
        let session_server = settings.session_server.as_ref();
        let session_server = session_server.map(serve_sessions).transpose()?;
        let process = ProcessContext {
            slots: Slots::new(settings.concurrent),
            outbox,
            times: options.times,
            system_id: options.system_id,
            version: options.version,
            revision: options.revision,
            labels: Mutex::new(settings.labels.clone()),
            helper: options.helper,
            caches: options.caches,
            supervisor: options.supervisor,
            job_list: JobList::new(metrics.active().clone()),
            sessions: session_server.as_ref().map(SessionServer::sessions),
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
            stop: Cancellation::new(),
            providers: Vec::new(),
            tasks: JoinSet::new(),
            state: watch::Sender::default(),
            debug_listener,
            debug_address: watch::Sender::new(debug_address),
            session_server,
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
        let runners = &self.settings.runners;
        let left = self.process.outbox.left().into_iter();
        let left = left.filter(|(_, record)| runners.iter().any(|it| is_own(it, record)));
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
        self.stop = stop.clone();
        let mut debug = JoinSet::new();
        debug.spawn(follow_settings(
            self.debug_listener.take(),
            self.debug_address.subscribe(),
            self.debug_state(),
        ));
        // Dropped after the last job, which ends its connections.
        let mut terminals = JoinSet::new();
        if let Some(server) = self.session_server.take() {
            terminals.spawn(server.serve());
        }
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
        // The old token of one that has begun may be void.
        while let Ok(Some(done)) = timeout(END_OF_ROTATIONS, rotations.join_next()).await {
            self.rotated(done.ok());
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
        let mut ends = None;
        let mut tasks = std::mem::take(&mut self.tasks);
        let process = Arc::clone(&self.process);
        let jobs = &process.jobs;
        while !tasks.is_empty() || !posted.is_empty() {
            if stop.level() == StopLevel::Abort && !jobs.is_canceled() {
                self.enter(ProcessState::ForcefulShutdown);
                jobs.cancel(CancelCause::Shutdown);
            }
            if jobs.is_canceled() || tasks.is_empty() {
                ends = ends.or_else(|| Some(Instant::now() + grace));
            }
            let event = async {
                tokio::select! {
                    _ = stop.aborted(), if !jobs.is_canceled() => true,
                    Some(delivery) = self.deliveries.recv() => { posted.spawn(delivery.run()); true }
                    Some(_) = tasks.join_next(), if !tasks.is_empty() => true,
                    Some(_) = posted.join_next(), if !posted.is_empty() => true,
                    else => false,
                }
            };
            // A job may take as long as it likes, unless it is interrupted; its delivery is on disk.
            let went_on = match ends {
                Some(ends) => timeout_at(ends, event).await.unwrap_or(false),
                None => event.await,
            };
            if went_on {
                continue;
            }
            if tasks.is_empty() || jobs.is_aborted() {
                break;
            }
            jobs.abort(CancelCause::Shutdown);
            ends = Some(Instant::now() + END_OF_ABORT);
        }
        for provider in &self.providers {
            if let Err(error) = provider.shutdown(grace).await {
                tracing::warn!(
                    error = &error as &dyn Error,
                    "An executor did not end in order."
                );
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
            // No handover meanwhile.
            let asking = Arc::clone(&self.process.asking);
            rotations.spawn(async move {
                let new = rotate(server, Arc::clone(&settings), tokens).await;
                drop(asking);
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
            if let Some(entry) = self.entries.remove(&entry_key(&old)) {
                self.entries.insert(entry_key(settings), entry);
            }
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
        process.labels.lock().clone_from(&settings.labels);
        let changes_all = settings.check_interval != self.settings.check_interval;
        if settings.session_server != self.settings.session_server {
            tracing::warn!("A change of [session_server] has an effect after a restart only.");
        }
        self.settings = settings;
        self.start_changed_entries(changes_all);
    }

    /// Starts entries that are new or changed, and stops those that are gone or changed.
    fn start_entries(&mut self) {
        self.start_changed_entries(false);
    }

    fn start_changed_entries(&mut self, changes_all: bool) {
        let mut old = std::mem::take(&mut self.entries);
        for settings in self.settings.runners.clone() {
            let key = entry_key(&settings);
            let before = old.remove(&key);
            let is_same = |it: &RunningEntry| {
                !changes_all
                    && it.settings.fingerprint == settings.fingerprint
                    && it.server == ServerKey::of(&settings)
            };
            match before {
                Some(entry) if is_same(&entry) => {
                    self.entries.insert(key, entry);
                }
                before => self.start(key, settings, before),
            }
        }
        for entry in old.values() {
            self.stop(entry);
        }
    }

    fn stop(&self, entry: &RunningEntry) {
        entry.stop.cancel(CancelCause::Shutdown);
        self.process.metrics.of(&entry.settings.config).end();
    }

    /// Starts an entry, in place of the one before; that goes on if the new one cannot be started.
    fn start(&mut self, key: EntryKey, settings: RunnerSettings, before: Option<RunningEntry>) {
        let (provider, server) = match self.parts(&settings, before.as_ref()) {
            Ok(parts) => parts,
            Err(error) => {
                let name = &settings.config.name;
                if let Some(before) = before {
                    tracing::error!(runner = %name, "The runner goes on with its earlier settings: {error}");
                    self.entries.insert(key, before);
                } else {
                    tracing::error!(runner = %name, "The runner is left out: {error}");
                }
                return;
            }
        };
        if let Some(before) = &before {
            // Its name may be another one now.
            self.stop(before);
        }
        let (numbers, turns) = match before {
            Some(before) => (before.numbers, before.turns),
            None => (JobSlots::new(), TurnCount::default()),
        };
        let bucket = self.bucket(&settings);
        let is_left_to_it = |it: &mut LeftJob| is_own(&settings, &it.record);
        let left = self.left.extract_if(.., is_left_to_it).collect();
        let settings = Arc::new(settings);
        let stop = self.stop.child();
        let context = EntryContext::new(
            Arc::clone(&settings),
            Arc::clone(&provider),
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
            turns: turns.clone(),
            shutdown: self.stop.clone(),
        };
        self.tasks.spawn(entry.run(stop.clone()));
        let running = RunningEntry {
            server: ServerKey::of(&settings),
            settings,
            provider,
            stop,
            numbers,
            turns,
        };
        self.entries.insert(key, running);
    }

    /// Returns the provider and the server of an entry. The provider of the entry before is used again if it is the same, as it may
    /// own machines.
    fn parts(
        &mut self,
        settings: &RunnerSettings,
        before: Option<&RunningEntry>,
    ) -> Result<(Arc<dyn ExecutorProvider>, Server), String> {
        let server = self.server(settings).map_err(|error| chain(&error))?;
        let is_same = |it: &&RunningEntry| {
            let before = &it.settings;
            before.config.executor == settings.config.executor
                && before.config.name == settings.config.name
                && fingerprint(&before.tables.0) == fingerprint(&settings.tables.0)
        };
        if let Some(before) = before.filter(is_same) {
            return Ok((Arc::clone(&before.provider), server));
        }
        let provider = self.executors.provider(settings)?;
        provider.init().map_err(|error| chain(&error))?;
        self.providers.push(Arc::clone(&provider));
        Ok((provider, server))
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
        let key = ServerKey::of(settings);
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
        let end = files.end_after_kill(record.job);
        let reason = end.reason.map(FailureReason::as_str);
        tracing::info!(
            job = record.job,
            reason,
            "The end of a job that an earlier process left will be sent."
        );
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

fn entry_key(settings: &RunnerSettings) -> EntryKey {
    let token = settings.config.token.expose().to_owned();
    (settings.url.to_string(), token)
}

/// Returns whether a runner may take over a job of an earlier process.
fn is_own(settings: &RunnerSettings, record: &JobRecord) -> bool {
    record.server == settings.url.as_str()
        && record.runner == settings.config.name
        && record.info.executor == settings.config.executor
}
