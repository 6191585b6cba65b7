//! One job on this host, and a log that records its output.

use executor_core::prelude::*;
use executor_core::trace::StreamKind;
use executor_core::variable::JobVariables;
use executor_core::{FileVariable, JobSlot, Placement, StageVariables};
use executor_shell::{Containment, ShellConfig};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Notify;

/// A log that stores its streams separately.
#[derive(Debug, Default)]
pub(crate) struct Log {
    text: Mutex<[Vec<u8>; 3]>,
    order: Mutex<Vec<StreamKind>>,
    changed: Notify,
}

impl Log {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.text.lock()[1]).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.text.lock()[2]).into_owned()
    }

    /// Returns the streams of all writes, in order.
    pub(crate) fn order(&self) -> Vec<StreamKind> {
        self.order.lock().clone()
    }

    /// Waits until standard output contains this text.
    pub(crate) async fn wait_for(&self, text: &str) {
        self.wait_until(|| self.stdout().contains(text)).await;
    }

    /// Waits for this number of writes.
    pub(crate) async fn wait_for_writes(&self, count: usize) {
        self.wait_until(|| self.order.lock().len() >= count).await;
    }

    async fn wait_until(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}

impl JobTrace for Log {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        let index = match stream {
            TraceStream::STDOUT => 1,
            TraceStream::STDERR => 2,
            _ => 0,
        };
        self.text.lock()[index].extend_from_slice(data);
        if index > 0 {
            self.order.lock().push(stream.kind);
        }
        self.changed.notify_one();
    }

    fn idle(&self, _stream: TraceStream) {}

    fn add_mask(&self, _secret: &str) {}
}

/// A prepared executor with a directory of its own.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) environment: PreparedEnvironment,
    pub(crate) log: Arc<Log>,
    pub(crate) variables: StageVariables,
    directory: TempDir,
}

/// The settings of most tests: no login, and a short grace period for background processes.
pub(crate) fn config() -> ShellConfig {
    ShellConfig {
        login: false,
        output_grace: Duration::from_millis(50),
        ..ShellConfig::default()
    }
}

/// The same, without cgroups.
pub(crate) fn config_without_cgroups() -> ShellConfig {
    ShellConfig {
        containment: Containment::NoCgroup,
        ..config()
    }
}

/// Returns the runner's settings with its directories below `directory`.
pub(crate) fn runner(directory: &Path) -> RunnerConfig {
    let mut config = RunnerConfig::new("test", "shell");
    config.builds_dir = Some(directory.join("builds").to_str().unwrap().to_owned());
    config.cache_dir = Some(directory.join("cache").to_str().unwrap().to_owned());
    config.graceful_kill_timeout = Duration::from_mins(1);
    config
}

pub(crate) fn options(config: RunnerConfig, log: &Arc<Log>) -> PrepareOptions {
    let mut job = Job::default();
    "group/project".clone_into(&mut job.job_info.project_full_path);
    PrepareOptions {
        config: Arc::new(config),
        job: Arc::new(job),
        variables: Arc::new(JobVariables::new()),
        trace: Arc::clone(log) as Arc<dyn JobTrace>,
        slot: JobSlot::default(),
        project_dir: None,
        planned: None,
    }
}

pub(crate) fn create(config: ShellConfig) -> Box<dyn Executor> {
    executor_shell::provider(config)
        .create(&ExecutorData::new())
        .unwrap()
}

impl Fixture {
    pub(crate) async fn new(config: ShellConfig) -> Self {
        Self::with_runner(config, |_| {}).await
    }

    pub(crate) async fn with_runner(
        config: ShellConfig,
        change: impl FnOnce(&mut RunnerConfig),
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = Arc::new(Log::default());
        let mut runner = runner(directory.path());
        change(&mut runner);
        let mut executor = create(config);
        let environment = executor
            .prepare(options(runner, &log), &Cancellation::new())
            .await
            .unwrap();
        std::fs::create_dir(&environment.workspace.dirs().project_dir).unwrap();
        Self {
            executor,
            environment,
            log,
            variables: StageVariables::default(),
            directory,
        }
    }

    /// Returns a path in the directory of this test.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn temp_dir(&self) -> PathBuf {
        PathBuf::from(&self.environment.workspace.dirs().temp_dir)
    }

    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.variables
            .environment
            .push((key.to_owned(), value.to_owned()));
    }

    pub(crate) fn set_file(&mut self, key: &str, content: &[u8]) {
        self.variables.files.push(FileVariable {
            key: key.to_owned(),
            content: content.to_vec(),
        });
    }

    pub(crate) fn command(&self, script: &str) -> StageCommand {
        StageCommand {
            stage: BuildStage::script(),
            script: script.to_owned(),
            placement: Placement::User,
            variables: Arc::new(self.variables.clone()),
            working_dir: self.environment.workspace.dirs().project_dir.clone(),
        }
    }

    pub(crate) async fn try_run(&mut self, script: &str) -> Result<StageResult, BuildError> {
        let command = self.command(script);
        self.executor.run(command, &Cancellation::new()).await
    }

    pub(crate) async fn run(&mut self, script: &str) -> StageResult {
        self.try_run(script).await.unwrap()
    }

    /// Runs a script that must succeed, and returns its standard output.
    pub(crate) async fn output(&mut self, script: &str) -> String {
        let before = self.log.stdout().len();
        let result = self.run(script).await;
        assert_eq!(
            result.status,
            StageStatus::Exited(ExitCode::SUCCESS),
            "{}",
            self.log.stderr()
        );
        self.log.stdout()[before..].to_owned()
    }
}

/// Counts the processes with `mark` in their arguments.
pub(crate) fn living(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| {
        let mut path = process.path();
        path.push("cmdline");
        // The process may have ended since the listing.
        std::fs::read(path).ok()
    });
    arguments
        .filter(|text| String::from_utf8_lossy(text).contains(mark))
        .count()
}

/// Returns a unique number of seconds to sleep, by which a process can be found.
pub(crate) fn unique_seconds() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};

    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("86400.{}{number:04}", std::process::id())
}
