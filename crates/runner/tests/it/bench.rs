//! A runner of the shell executor in this process, beside a job server.

use executor_core::{CancelCause, Cancellation, ExecutorProvider, RunnerConfig, ShellDialect};
use executor_shell::ShellConfig;
use gitlab_testkit::{JobServer, JobServerState};
use job_runner::LocalCaches;
use process::{Settings as ProcessSettings, Supervisor};
use runner::config::{ArtifactSettings, ExecutorTables, RunnerSettings, Settings};
use runner::{
    DeliveryTimes, Executors, Manager, ManagerError, ManagerOptions, Metrics, MetricsOptions,
    Outbox, Proxies, TokenStore,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// The token of the runner.
pub(crate) const TOKEN: &str = "glrt-recRunnerToken00001";

/// A place where runners live one after another.
pub(crate) struct Bench {
    pub(crate) server: JobServer,
    pub(crate) dir: TempDir,
    pub(crate) settings: Settings,
    pub(crate) tokens: Option<Arc<dyn TokenStore>>,
    /// In place of the shell executor.
    pub(crate) provider: Option<Arc<dyn ExecutorProvider>>,
}

#[derive(Debug)]
struct Shell {
    directory: PathBuf,
    supervisor: Supervisor,
    provider: Option<Arc<dyn ExecutorProvider>>,
}

impl Executors for Shell {
    fn provider(&self, settings: &RunnerSettings) -> Result<Arc<dyn ExecutorProvider>, String> {
        if let Some(provider) = &self.provider {
            return Ok(Arc::clone(provider));
        }
        let inside = |name: &str| self.directory.join(name).display().to_string();
        let table = settings.tables.get("shell");
        let builds = table.and_then(|it| it.get("builds")?.as_str());
        let config = ShellConfig {
            login: false,
            builds_dir: inside(builds.unwrap_or("builds")),
            cache_dir: inside("cache"),
            supervisor: Some(self.supervisor.clone()),
            ..ShellConfig::default()
        };
        Ok(Arc::new(executor_shell::provider(config)))
    }
}

impl Bench {
    /// Returns a bench with one runner and one slot.
    pub(crate) fn new() -> Self {
        let server = JobServer::start();
        let runner = RunnerSettings {
            config: RunnerConfig {
                token: TOKEN.into(),
                shell: Some(ShellDialect::Bash),
                ..RunnerConfig::new("recorder", "shell")
            },
            id: 7,
            url: web::Url::parse(&server.url()).expect("an address"),
            token_obtained_at: None,
            token_expires_at: None,
            tls_ca_file: None,
            tls_cert_file: None,
            tls_key_file: None,
            request_concurrency: 1,
            unhealthy_requests_limit: 3,
            unhealthy_interval: Duration::from_hours(1),
            clone_url: None,
            labels: BTreeMap::new(),
            feature_flags: BTreeMap::new(),
            artifact: ArtifactSettings {
                upload_timeout: Duration::from_mins(1),
            },
            cache: None,
            tables: ExecutorTables::default(),
            fingerprint: 0,
        };
        let settings = Settings {
            check_interval: Duration::from_millis(100),
            shutdown_timeout: Duration::from_secs(10),
            runners: vec![runner],
            ..Settings::default()
        };
        Self {
            server,
            dir: tempfile::tempdir().expect("a directory"),
            settings,
            tokens: None,
            provider: None,
        }
    }

    /// Starts a runner.
    pub(crate) fn start(&self) -> Running {
        self.start_with(DeliveryTimes::default())
    }

    /// Starts a runner that calls its server at these times.
    pub(crate) fn start_with(&self, times: DeliveryTimes) -> Running {
        let supervisor = Supervisor::start(ProcessSettings::default()).expect("a supervisor");
        let manager = self.manager(times, &supervisor);
        let debug = manager.debug_address();
        let stop = Cancellation::new();
        let (reload, reloads) = watch::channel(None);
        let stopped = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "the test owns the task")]
        let task = tokio::spawn(async move {
            manager.run(&stopped, reloads).await;
            supervisor.shutdown().await.expect("the processes end");
        });
        Running {
            stop,
            reload,
            debug,
            task,
        }
    }

    /// Returns a runner that does not run yet.
    pub(crate) fn manager(&self, times: DeliveryTimes, supervisor: &Supervisor) -> Manager {
        self.try_manager(times, supervisor).expect("a manager")
    }

    pub(crate) fn try_manager(
        &self,
        times: DeliveryTimes,
        supervisor: &Supervisor,
    ) -> Result<Manager, ManagerError> {
        let system_id = "s_0123456789ab".to_owned();
        let metrics = Metrics::new(MetricsOptions {
            system_id: system_id.clone(),
            version: "0.0.0".to_owned(),
            ..MetricsOptions::default()
        });
        let executors = Shell {
            directory: self.dir.path().to_owned(),
            supervisor: supervisor.clone(),
            provider: self.provider.clone(),
        };
        let options = ManagerOptions {
            executors: Arc::new(executors),
            tokens: self.tokens.clone(),
            outbox: self.outbox(),
            system_id,
            supervisor: supervisor.clone(),
            helper: None,
            caches: LocalCaches::at(self.dir.path().join("caches")),
            proxies: Proxies::default(),
            times,
            metrics: metrics.expect("metrics"),
            version: "0.0.0".to_owned(),
            revision: String::new(),
        };
        Manager::new(self.settings.clone(), options)
    }

    /// The directory of the outbox.
    pub(crate) fn outbox(&self) -> PathBuf {
        self.dir.path().join("outbox")
    }

    /// Returns the names of the jobs in the outbox.
    pub(crate) fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.outbox()).into_iter().flatten();
        let names = entries
            .flatten()
            .map(|it| it.file_name().display().to_string());
        let mut names: Vec<String> = names.filter(|it| it != "lock").collect();
        names.sort();
        names
    }

    /// Queues a job with this script.
    pub(crate) fn queue(&self, script: &[&str]) -> u64 {
        self.server.queue(job(script))
    }

    /// Waits until the server is in a state.
    pub(crate) async fn wait(&self, wanted: &str, is_so: impl Fn(&JobServerState) -> bool) {
        let came = self.server.wait_until_async(PATIENCE, is_so).await;
        let calls = self.server.calls();
        let calls = calls
            .iter()
            .map(|it| format!("{} {:?}", it.request.path, it.status()));
        assert!(
            came,
            "waited for {wanted}:\n{}",
            calls.collect::<Vec<_>>().join("\n")
        );
    }

    /// Waits until the server has the end of a job, and returns it.
    pub(crate) async fn end_of(&self, job: u64) -> Value {
        self.wait("the end of a job", |it| it.final_update(job).is_some())
            .await;
        self.server.final_update(job).expect("an end")
    }

    /// Returns the log of a job as text.
    pub(crate) fn log(&self, job: u64) -> String {
        String::from_utf8_lossy(&self.server.trace(job)).into_owned()
    }

    /// Checks what must hold after a runner was killed: the next one learns from the server how much of a log it has.
    pub(crate) fn check_after_kill(&self) {
        let mut violations = self.server.violations();
        violations.retain(|it| !it.contains("a piece begins at 0"));
        assert_eq!(violations, Vec::<String>::new());
    }

    /// Checks what must hold at the end of every other test.
    pub(crate) fn check(&self) {
        assert_eq!(self.server.violations(), Vec::<String>::new());
    }
}

/// A runner at work.
pub(crate) struct Running {
    pub(crate) stop: Cancellation,
    pub(crate) reload: watch::Sender<Option<Settings>>,
    /// Where it serves metrics, if the settings say so.
    pub(crate) debug: Option<SocketAddr>,
    task: JoinHandle<()>,
}

impl Running {
    /// Lets the running jobs end, and waits for the runner.
    pub(crate) async fn finish(self) {
        self.stop.cancel(CancelCause::Shutdown);
        self.ended().await;
    }

    /// Waits for a runner that was stopped.
    pub(crate) async fn ended(self) {
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.expect("the runner ends in time").expect("no panic");
    }

    /// Ends the runner's tasks where they are, as a kill would.
    #[expect(clippy::disallowed_methods, reason = "a kill of the process")]
    pub(crate) async fn kill(self, bench: &Bench) {
        self.task.abort();
        let _ = self.task.await;
        // The tasks below it end a moment later.
        while Outbox::open(&bench.outbox()).is_err() {
            tokio::task::yield_now().await;
        }
    }
}

/// Returns a job without sources.
pub(crate) fn job(script: &[&str]) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(101);
    json!({
        "id": NEXT.fetch_add(1, Ordering::Relaxed),
        "token": "glcbt-64_jobToken",
        "allow_git_fetch": true,
        "job_info": {"name": "job", "stage": "test", "project_id": 42, "project_name": "project",
            "project_full_path": "group/project"},
        "git_info": {"repo_url": "", "ref": "main", "sha": "0", "before_sha": "0", "ref_type": "branch",
            "refspecs": [], "depth": 20},
        "runner_info": {"timeout": 3600},
        "variables": [{"key": "GIT_STRATEGY", "value": "none", "public": true}],
        "steps": [{"name": "script", "script": script, "timeout": 3600, "when": "on_success"}],
        "features": {"trace_sections": true, "failure_reasons": ["script_failure", "runner_system_failure",
            "job_execution_timeout", "job_canceled", "runner_interrupted"]},
    })
}
