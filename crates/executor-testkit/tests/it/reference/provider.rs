use super::executor::ReferenceExecutor;
use super::fault::Fault;
use super::process::marked;
use executor_core::prelude::*;
use executor_testkit::{SuiteOptions, runner_config};
use parking_lot::Mutex;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// State that the executors of one provider share because of a fault.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Whether environments claim to be remote.
    pub(crate) remote: bool,
    /// The prefix of the marks of all processes.
    pub(crate) mark: String,
    pub(crate) variables: Mutex<Vec<(String, String)>>,
}

/// A provider of [`ReferenceExecutor`]s in its own directory.
#[derive(Debug)]
pub(crate) struct ReferenceProvider {
    directory: tempfile::TempDir,
    mark: String,
}

impl ReferenceProvider {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self {
            directory: tempfile::tempdir().expect("there is room for a directory"),
            mark: format!("{}.{number}.", std::process::id()),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn build(&self, fault: Option<Fault>) -> Arc<dyn ExecutorProvider> {
        self.build_with(fault, false)
    }

    /// Returns a provider that claims that only scripts can reach its files.
    pub(crate) fn build_remote(&self, fault: Option<Fault>) -> Arc<dyn ExecutorProvider> {
        self.build_with(fault, true)
    }

    /// Returns a function that finds the processes and temporary files of all executors.
    pub(crate) fn leftovers(&self) -> impl Fn() -> Vec<String> + Send + Sync + 'static {
        let builds_dir = self.directory().join("builds");
        let mark = self.mark.clone();
        move || {
            let processes = marked(&mark).into_iter();
            let processes = processes.map(|pid| format!("process {pid:?}"));
            let files = temporary_files(&builds_dir).into_iter();
            processes
                .chain(files.map(|path| path.display().to_string()))
                .collect()
        }
    }

    fn build_with(&self, fault: Option<Fault>, remote: bool) -> Arc<dyn ExecutorProvider> {
        let builds_dir = self.directory().join("builds");
        let cache_dir = self.directory().join("cache");
        let options = AbstractExecutorOptions {
            default_builds_dir: builds_dir.to_str().expect("the path is text").to_owned(),
            default_cache_dir: cache_dir.to_str().expect("the path is text").to_owned(),
            shared_builds_dir: fault != Some(Fault::SharesEnvironment),
            shell: ShellInfo::new(ShellDialect::Sh),
            show_hostname: true,
        };
        let shared = Arc::new(Shared {
            remote,
            mark: self.mark.clone(),
            ..Shared::default()
        });
        let (created, questions) = (AtomicU32::new(0), AtomicU32::new(0));
        let provider = DefaultExecutorProvider::new(ShellDialect::Sh)
            .with_creator(move |_data| {
                let mut executor =
                    ReferenceExecutor::new(options.clone(), fault, Arc::clone(&shared));
                // Not every time: a process is often limited to 1024 files.
                if fault == Some(Fault::CreateAllocates)
                    && created.fetch_add(1, Ordering::Relaxed) % 5 < 3
                {
                    let file = File::open("/dev/null");
                    let file =
                        file.map_err(|error| BuildError::system("reference", "open", error))?;
                    executor.held = Some(file);
                }
                Ok(Box::new(executor))
            })
            .with_features(move |features| {
                features.variables = true;
                features.terminal |= fault == Some(Fault::Boasts);
                if fault == Some(Fault::ChangesItsMind) {
                    features.image = questions.fetch_add(1, Ordering::Relaxed) % 2 == 1;
                }
            });
        Arc::new(provider)
    }

    /// Returns a suite that takes seconds, for executors with a single fault.
    pub(crate) fn short_suite() -> SuiteOptions {
        let mut config = runner_config("reference");
        config.graceful_kill_timeout = Duration::from_secs(1);
        SuiteOptions::new(config)
            .exit_codes([0, 1, 2, 127, 128, 255])
            .jobs(4)
            .line_bytes(1_000_000)
            .promptness(Duration::from_mins(1))
    }
}

/// Returns the files beside the projects of all slots.
fn temporary_files(builds_dir: &Path) -> Vec<PathBuf> {
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    entries(builds_dir.to_owned())
        .flat_map(|slot| entries(slot.path().join("group")))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some())
        .collect()
}
