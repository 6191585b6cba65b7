use super::executor::ReferenceExecutor;
use super::fault::Fault;
use executor_core::prelude::*;
use executor_testkit::{SuiteOptions, runner_config};
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// What the executors of one provider share when they should not.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Whether environments say that they are elsewhere.
    pub(crate) remote: bool,
    pub(crate) variables: Mutex<Vec<(String, String)>>,
    pub(crate) processes: Mutex<Vec<tokio::process::Child>>,
}

/// A provider of [`ReferenceExecutor`]s below a directory of its own.
#[derive(Debug)]
pub(crate) struct ReferenceProvider {
    directory: tempfile::TempDir,
}

impl ReferenceProvider {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("there is room for a directory");
        Self { directory }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn build(&self, fault: Option<Fault>) -> Arc<dyn ExecutorProvider> {
        self.build_with(fault, Shared::default())
    }

    /// Returns a provider whose files only scripts can reach, or so it says.
    pub(crate) fn build_remote(&self) -> Arc<dyn ExecutorProvider> {
        let shared = Shared {
            remote: true,
            ..Shared::default()
        };
        self.build_with(None, shared)
    }

    fn build_with(&self, fault: Option<Fault>, shared: Shared) -> Arc<dyn ExecutorProvider> {
        let builds_dir = self.directory().join("builds");
        let cache_dir = self.directory().join("cache");
        let options = AbstractExecutorOptions {
            default_builds_dir: builds_dir.to_str().expect("the path is text").to_owned(),
            default_cache_dir: cache_dir.to_str().expect("the path is text").to_owned(),
            shared_builds_dir: fault != Some(Fault::SharesEnvironment),
            shell: ShellInfo::new(Dialect::Sh),
            show_hostname: true,
        };
        let shared = Arc::new(shared);
        let provider = DefaultExecutorProvider::new(Dialect::Sh)
            .with_creator(move |_data| {
                if fault == Some(Fault::CreateAllocates) {
                    let sleeper = tokio::process::Command::new("sleep")
                        .arg("30")
                        .kill_on_drop(true)
                        .spawn();
                    let sleeper =
                        sleeper.map_err(|error| BuildError::system("reference", "start", error))?;
                    shared.processes.lock().unwrap().push(sleeper);
                }
                Ok(Box::new(ReferenceExecutor::new(
                    options.clone(),
                    fault,
                    Arc::clone(&shared),
                )))
            })
            .with_features(move |features| {
                features.variables = true;
                features.terminal |= fault == Some(Fault::Boasts);
            });
        Arc::new(provider)
    }

    /// Returns a suite that takes seconds, for executors that fail at one thing.
    pub(crate) fn short_suite() -> SuiteOptions {
        let mut config = runner_config("reference");
        config.graceful_kill_timeout = Duration::from_secs(1);
        SuiteOptions::new(config)
            .exit_codes([0, 1, 2, 127, 128, 255])
            .jobs(4)
            .output_bytes(1_000_000)
            .line_bytes(1_000_000)
            // Tests of this process run side by side and grow as they like.
            .memory_growth(u64::MAX)
            .deadline(Duration::from_secs(20))
            .promptness(Duration::from_secs(8))
    }
}
