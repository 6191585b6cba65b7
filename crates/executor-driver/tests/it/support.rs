//! Drivers, and jobs that run through them.

use executor_core::prelude::*;
use executor_core::{AcquireError, TraceStream};
use executor_driver::{DriverConfig, DriverProvider};
use executor_testkit::{CommandBuilder, OptionsBuilder, RecordingTrace, runner_config};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A time that a test can wait for.
pub(crate) const SHORT: Duration = Duration::from_millis(400);

/// Returns the path of the example.
pub(crate) fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drivers/host.py")
}

/// Returns the example as it is.
pub(crate) fn host() -> DriverProvider {
    executor_driver::provider(DriverConfig::new(["python3", example().to_str().unwrap()]))
}

/// Returns the settings of the example with methods that replace its own.
///
/// The methods see the module as `host`, and `os`, `sys` and `time`.
pub(crate) fn changed(methods: &str) -> DriverConfig {
    let directory = example().parent().unwrap().to_str().unwrap().to_owned();
    let methods = methods.replace('\n', "\n    ");
    let program = format!(
        "import os, sys, time\n\
         sys.dont_write_bytecode = True\n\
         sys.path.insert(0, {directory:?})\n\
         import host\n\
         class Changed(host.Host):\n    {methods}\n\
         host.main(Changed())\n"
    );
    DriverConfig::new(["python3", "-c", &program])
}

/// One job, from `acquire` on.
pub(crate) struct TestJob {
    pub(crate) provider: DriverProvider,
    pub(crate) config: RunnerConfig,
    pub(crate) data: ExecutorData,
    pub(crate) executor: Box<dyn Executor>,
    pub(crate) trace: RecordingTrace,
    pub(crate) working_dir: String,
}

impl TestJob {
    /// Acquires and creates.
    pub(crate) async fn open(config: DriverConfig) -> Result<Self, AcquireError> {
        let provider = executor_driver::provider(config);
        let mut config = runner_config("driver");
        config.graceful_kill_timeout = SHORT;
        config.force_kill_timeout = SHORT;
        let data = provider.acquire(&config, &Cancellation::new()).await?;
        let executor = provider.create(&data).unwrap();
        Ok(Self {
            provider,
            config,
            data,
            executor,
            trace: RecordingTrace::new(),
            working_dir: "/".to_owned(),
        })
    }

    /// Returns a prepared job.
    pub(crate) async fn prepared(config: DriverConfig) -> Self {
        let mut job = Self::open(config).await.unwrap();
        job.prepare(&Cancellation::new()).await.unwrap();
        job
    }

    pub(crate) async fn prepare(
        &mut self,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let options = OptionsBuilder::new()
            .config(self.config.clone())
            .trace(Arc::new(self.trace.clone()))
            .build();
        let environment = self.executor.prepare(options, cancellation).await?;
        let dirs = environment.workspace.dirs();
        self.working_dir.clone_from(&dirs.builds_dir);
        Ok(environment)
    }

    pub(crate) async fn run(&mut self, script: &str) -> Result<StageResult, BuildError> {
        self.run_until(script, &Cancellation::new()).await
    }

    pub(crate) async fn run_until(
        &mut self,
        script: &str,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        let command = CommandBuilder::new(script).working_dir(self.working_dir.clone());
        self.executor.run(command.build(), cancellation).await
    }

    pub(crate) fn output(&self) -> Vec<u8> {
        self.trace.bytes(TraceStream::STDOUT)
    }

    /// Cleans up and releases, and stops the driver.
    pub(crate) async fn end(mut self) -> Result<(), BuildError> {
        let cleaned = self.executor.cleanup().await;
        self.provider.release(&self.config, self.data).await;
        self.provider
            .shutdown(Duration::from_secs(20))
            .await
            .unwrap();
        cleaned
    }
}
