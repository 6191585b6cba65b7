//! `runwright runner run`: takes jobs until a signal.

use super::executors::{RunnerExecutors, owners};
use super::systemd::{notify, watchdog};
use super::{ConfigTokens, service_log, settings, strictness};
use crate::args::RunnerRunArgs;
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::Context;
use executor_core::{CancelCause, Cancellation};
use runner::config::{ConfigFile, Settings, Strictness};
use runner::{DeliveryTimes, Manager, ManagerOptions, Metrics, MetricsOptions, Outbox};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;
use workstation::{LocalError, StateDir, UserLibrary, succeed_killed_run, supervise};

/// How often config.toml is looked at.
const LOOK: Duration = Duration::from_secs(3);

/// How often a runner that leaves its jobs to the next one looks whether it can.
const LEAVE_LOOK: Duration = Duration::from_millis(100);

/// Takes jobs for the runners of a file.
pub(super) fn run(args: &RunnerRunArgs) -> Result<Exit, Failure> {
    let config = std::path::absolute(args.config.path()).map_err(Failure::environment)?;
    let runner = Runner {
        strictness: strictness(args.lenient),
        working_directory: args.working_directory.clone(),
        state: state_dir(args.state_dir.as_deref(), &config)?,
        limits: Limits::default(),
        config,
    };
    runner.run()
}

/// What ends a runner that is not stopped by a signal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// The number of jobs.
    pub(super) jobs: Option<u64>,
    /// The time without a job.
    pub(super) without_job: Option<Duration>,
}

/// The runners of a file, as this process runs them.
#[derive(Debug)]
pub(super) struct Runner {
    pub(super) config: PathBuf,
    pub(super) strictness: Strictness,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) state: StateDir,
    pub(super) limits: Limits,
}

impl Runner {
    /// Takes jobs until a signal or a limit.
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let Self {
            config: path,
            strictness,
            working_directory,
            state,
            limits,
        } = self;
        let settings = settings(&path, strictness)?;
        let counter = service_log::start(&settings);
        workstation::raise_open_file_limit();
        let directory = match &working_directory {
            Some(directory) => std::path::absolute(directory),
            None => std::env::current_dir(),
        };
        let directory = directory
            .context("find the working directory")
            .map_err(Failure::environment)?;
        let outbox = state.path().join("outbox");
        // The guardian of a living runner would be waited for; it is an error below.
        if !Outbox::is_in_use(&outbox) {
            succeed_killed_run(&state)?;
        }
        let runtime = runtime::start()?;
        runtime.block_on(async {
            let supervisor = supervise(&state)?;
            let (owner, before) = owners(&state)
                .context("register as an owner of containers")
                .map_err(Failure::environment)?;
            let executors = RunnerExecutors {
                config: path.clone(),
                state: state.clone(),
                supervisor: supervisor.clone(),
                library: Arc::new(UserLibrary::new(&state)),
                directory,
                owner,
            };
            let system_id = path.with_file_name(".runner_system_id");
            let system_id = system_id_of(&system_id, state.path())?;
            let metrics = Metrics::new(MetricsOptions {
                system_id: system_id.clone(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ..MetricsOptions::default()
            })
            .map_err(Failure::environment)?;
            metrics.configuration_loaded();
            counter.count_for(&metrics);
            let options = ManagerOptions {
                executors: Arc::new(executors),
                tokens: Some(Arc::new(ConfigTokens(path.clone()))),
                outbox,
                system_id,
                supervisor: supervisor.clone(),
                helper: std::env::current_exe().ok(),
                caches: state.caches(),
                proxies: web_proxies(),
                times: DeliveryTimes::default(),
                metrics,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                revision: String::new(),
            };
            let manager = Manager::new(settings.clone(), options).map_err(Failure::environment)?;
            let (config, runners) = (path.display(), settings.runners.len());
            tracing::info!(%config, runners, concurrent = settings.concurrent, "The runner takes jobs.");
            warn_without_runners(&settings);
            before.sweep(&settings, manager.left_environments()).await;
            // The manager has its own; with a thousand runners they are large.
            drop(settings);
            let done = serve(manager, &path, strictness, limits).await;
            if let Err(error) = supervisor.shutdown().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "Processes of jobs are left to the guardian."
                );
            }
            done
        })
    }
}

/// Returns the machine's identity: beside config.toml, else in the state directory.
fn system_id_of(beside: &Path, state: &Path) -> Result<String, Failure> {
    match runner::system_id(beside) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            runner::system_id(&state.join("system_id"))
        }
        other => other,
    }
    .with_context(|| format!("keep the identity of this machine in {}", beside.display()))
    .map_err(Failure::environment)
}

fn warn_without_runners(settings: &Settings) {
    if settings.runners.is_empty() {
        tracing::warn!("There is no [[runners]] yet; `runwright runner register` adds one.");
    }
}

fn web_proxies() -> runner::Proxies {
    runner::Proxies::from_variables(|name| std::env::var(name).ok())
}

/// Returns the state directory of the runners of this file.
pub(super) fn state_dir(named: Option<&Path>, config: &Path) -> Result<StateDir, Failure> {
    if let Some(directory) = named {
        let directory = std::path::absolute(directory).map_err(Failure::environment)?;
        return Ok(StateDir::at(directory));
    }
    let user = StateDir::of_user().map_err(LocalError::from)?;
    // One file has one directory, whatever its spelling.
    let config = &fs::canonicalize(config).unwrap_or_else(|_| config.to_owned());
    let name: String = config
        .to_string_lossy()
        .trim_start_matches('/')
        .replace('/', "-");
    Ok(StateDir::at(user.path().join("runners").join(name)))
}

/// Runs the manager, and tells it of signals and of changes of the file.
async fn serve(
    manager: Manager,
    path: &Path,
    strictness: Strictness,
    limits: Limits,
) -> Result<Exit, Failure> {
    let listen = |kind| {
        signal(kind)
            .context("listen to signals")
            .map_err(Failure::environment)
    };
    let mut quit = listen(SignalKind::quit())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let mut leave = listen(SignalKind::user_defined2())?;
    let mut ends = [
        listen(SignalKind::terminate())?,
        listen(SignalKind::interrupt())?,
    ];
    let stop = Cancellation::new();
    let (reload, reloads) = watch::channel(None);
    let mut file = ConfigWatch::new(path, strictness, manager.metrics().clone());
    let handover = manager.handover();
    let mut taken = manager.jobs_taken();
    let mut is_leaving = false;
    let mut last_job = Instant::now();
    let running = manager.run(&stop, reloads);
    tokio::pin!(running);
    let mut look = tokio::time::interval(LOOK);
    let mut leave_look = tokio::time::interval(LEAVE_LOOK);
    let mut alive = tokio::time::interval(watchdog().unwrap_or(Duration::from_hours(1)));
    notify("READY=1");
    loop {
        tokio::select! {
            () = &mut running => return Ok(Exit::Success),
            _ = alive.tick() => notify("WATCHDOG=1"),
            _ = quit.recv() => {
                notify("STOPPING=1");
                tracing::info!("No more jobs; the running ones end.");
                stop.cancel(CancelCause::Shutdown);
            }
            _ = leave.recv() => {
                notify("STOPPING=1");
                tracing::info!("No more jobs; those in containers, in pods and over SSH are left to the next start, the others end.");
                stop.cancel(CancelCause::Shutdown);
                is_leaving = true;
            }
            Ok(()) = taken.changed() => {
                let number = *taken.borrow_and_update();
                last_job = Instant::now();
                if limits.jobs.is_some_and(|most| number >= most) {
                    tracing::info!("These were all jobs; the running ones end.");
                    stop.cancel(CancelCause::Shutdown);
                }
            }
            () = waited(last_job, limits.without_job), if !stop.is_canceled() => {
                if handover.has_jobs() {
                    last_job = Instant::now();
                } else {
                    tracing::info!("There was no job for too long.");
                    stop.cancel(CancelCause::Shutdown);
                }
            }
            _ = leave_look.tick(), if is_leaving => {
                if handover.is_possible() {
                    // Destructors would end the jobs.
                    std::process::exit(0);
                }
            }
            () = either(&mut ends) => {
                if stop.is_aborted() {
                    tracing::warn!("The runner ends at once; the next start reports its jobs.");
                    return Ok(Exit::JobFailed);
                }
                notify("STOPPING=1");
                tracing::info!("The running jobs are interrupted; a second signal ends the runner at once.");
                stop.abort(CancelCause::Shutdown);
            }
            _ = hangup.recv() => file.read_again(&reload),
            _ = look.tick() => file.read_if_changed(&reload),
        }
    }
}

/// Waits until there was no job for so long.
async fn waited(since: Instant, limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep_until(since + limit).await,
        None => std::future::pending().await,
    }
}

async fn either(signals: &mut [Signal; 2]) {
    let [one, two] = signals;
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
    }
}

/// Notices changes of config.toml.
struct ConfigWatch {
    path: PathBuf,
    strictness: Strictness,
    metrics: Metrics,
    seen: Option<(SystemTime, u64)>,
    /// Of an empty file, which an editor may be writing.
    empty: Option<(SystemTime, u64)>,
}

impl ConfigWatch {
    fn new(path: &Path, strictness: Strictness, metrics: Metrics) -> Self {
        Self {
            path: path.to_owned(),
            strictness,
            metrics,
            seen: stamp(path),
            empty: None,
        }
    }

    fn read_if_changed(&mut self, reload: &watch::Sender<Option<Settings>>) {
        let now = stamp(&self.path);
        if now == self.seen {
            return;
        }
        // It would remove all runners, so it counts if the next look finds it unchanged.
        let is_empty = matches!(now, Some((_, 0)));
        let was_empty = std::mem::replace(&mut self.empty, now.filter(|_| is_empty));
        if !is_empty || was_empty == now {
            self.read_now(reload);
        }
    }

    fn read_again(&mut self, reload: &watch::Sender<Option<Settings>>) {
        self.seen = None;
        self.read_if_changed(reload);
    }

    /// Reads the file; a broken one changes nothing.
    fn read_now(&mut self, reload: &watch::Sender<Option<Settings>>) {
        self.seen = stamp(&self.path);
        let read = ConfigFile::read(&self.path, &super::known::known(self.strictness));
        match read.and_then(ConfigFile::into_settings) {
            Ok((settings, _)) => {
                self.metrics.configuration_loaded();
                let (runners, concurrent) = (settings.runners.len(), settings.concurrent);
                tracing::info!(runners, concurrent, "The settings are read again.");
                warn_without_runners(&settings);
                reload.send_replace(Some(settings));
            }
            Err(error) => {
                self.metrics.configuration_not_loaded();
                tracing::error!(
                    "The settings stay as they were: {}",
                    console::strip_controls(&error.to_string())
                );
            }
        }
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_file_counts_when_the_next_look_finds_it_empty_too() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.toml");
        fs::write(&path, "concurrent = 2\n").unwrap();
        let metrics = Metrics::new(MetricsOptions::default()).unwrap();
        let mut file = ConfigWatch::new(&path, Strictness::Strict, metrics);
        let (reload, _) = watch::channel(None);
        let mut check = |expect: Option<usize>| {
            file.read_if_changed(&reload);
            let read = reload.borrow();
            assert_eq!(read.as_ref().map(|it| it.concurrent), expect);
        };
        check(None);
        fs::write(&path, "").unwrap();
        check(None);
        fs::write(&path, "concurrent = 30\n").unwrap();
        check(Some(30));
        fs::write(&path, "").unwrap();
        check(Some(30));
        check(Some(1));
    }
}
