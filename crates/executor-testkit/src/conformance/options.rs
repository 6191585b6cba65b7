use crate::builder::JobBuilder;
use crate::conformance::check::CHECKS;
use crate::conformance::report::CheckReport;
use executor_core::{Cancellation, HumanDuration, Job, RunnerConfig};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

type Leftovers = Arc<dyn Fn() -> Vec<String> + Send + Sync>;
type Watcher = Arc<dyn Fn(&CheckReport) + Send + Sync>;

/// The options of the conformance suite.
///
/// The defaults are the full suite for an executor that starts in milliseconds. For an executor that
/// starts containers, use fewer exit codes and jobs, and longer deadlines. A size too small for its
/// check fails the check.
///
/// # Examples
///
/// ```
/// use executor_testkit::{SuiteOptions, runner_config};
/// use std::time::Duration;
///
/// let options = SuiteOptions::new(runner_config("docker"))
///     .exit_codes([0, 1, 2, 42, 126, 127, 128, 137, 143, 255])
///     .jobs(10)
///     .promptness(Duration::from_secs(30))
///     .leftovers(|| Vec::new() /* containers and networks with the executor's label */);
/// ```
#[derive(Clone)]
pub struct SuiteOptions {
    pub(crate) config: RunnerConfig,
    pub(crate) job: Job,
    pub(crate) exit_codes: Vec<u8>,
    pub(crate) jobs: u32,
    pub(crate) has_room_for_one: bool,
    pub(crate) output_bytes: u64,
    pub(crate) line_bytes: usize,
    pub(crate) memory_growth: u64,
    pub(crate) deadline: Duration,
    pub(crate) promptness: Duration,
    pub(crate) leftovers: Option<Leftovers>,
    pub(crate) watcher: Option<Watcher>,
    pub(crate) stop: Cancellation,
    only: Vec<String>,
    skipped: Vec<(String, String)>,
}

impl SuiteOptions {
    /// Returns the full suite for a runner with these settings.
    ///
    /// Put `builds_dir` and `cache_dir` in a directory for the suite only, and keep
    /// `graceful_kill_timeout` short: some checks wait for it.
    pub fn new(config: RunnerConfig) -> Self {
        Self {
            config,
            job: JobBuilder::new(1).name("conformance").build(),
            exit_codes: (0..=255).collect(),
            jobs: 50,
            has_room_for_one: false,
            output_bytes: 100_000_000,
            line_bytes: 10_000_000,
            memory_growth: 48 * 1024 * 1024,
            deadline: Duration::from_mins(2),
            promptness: Duration::from_secs(20),
            leftovers: None,
            watcher: None,
            stop: Cancellation::new(),
            only: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Sets the job of all checks, for executors that need an image or a variable.
    pub fn job(mut self, job: Job) -> Self {
        self.job = job;
        self
    }

    /// Sets the exit codes to check; default all 256. They must include 0, 1 and one above 127.
    pub fn exit_codes(mut self, codes: impl IntoIterator<Item = u8>) -> Self {
        self.exit_codes = codes.into_iter().collect();
        self
    }

    /// Sets the number of concurrent jobs in one check; default 50, at least 2.
    pub fn jobs(mut self, jobs: u32) -> Self {
        self.jobs = jobs;
        self
    }

    /// Skips the checks of concurrent jobs, and runs those of other checks in turn: for an executor with room for one job.
    pub fn room_for_one(mut self) -> Self {
        self.has_room_for_one = true;
        self.jobs(1)
    }

    /// Sets the length of the longest output in bytes; default 100 MB, at least 16 MB.
    ///
    /// After too much growth of memory there are two more attempts, with two and four times as much.
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Sets the length of the longest line in bytes; default 10 MB, at least 1 MB.
    pub fn line_bytes(mut self, bytes: usize) -> Self {
        self.line_bytes = bytes;
        self
    }

    /// Sets the limit for the growth of this process during the longest output, in bytes; default 48 MiB.
    ///
    /// It must be less than [`output_bytes`](Self::output_bytes), so that collected output is detected. One of three attempts must
    /// comply, as other tests of the process may need memory meanwhile.
    pub fn memory_growth(mut self, bytes: u64) -> Self {
        self.memory_growth = bytes;
        self
    }

    /// Sets the deadline of each single call; default 2 minutes. The runner's `graceful_kill_timeout` must
    /// be shorter.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sets the deadline for a prompt return; default 20 seconds.
    ///
    /// It applies after `abort`, after the grace period of a `cancel`, and after the end of a script with a
    /// background child.
    pub fn promptness(mut self, promptness: Duration) -> Self {
        self.promptness = promptness;
        self
    }

    /// Sets the function that lists resources outside this process: containers, remote processes.
    ///
    /// It is called after cleanup and must return an empty list within [`promptness`](Self::promptness).
    ///
    /// For a local workspace the suite finds processes and temporary files itself, on hosts with `/proc`.
    /// Otherwise the checks of leftovers fail without this function.
    pub fn leftovers(mut self, find: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        self.leftovers = Some(Arc::new(find));
        self
    }

    /// Shows each check when it has ended.
    pub fn watcher(mut self, watcher: impl Fn(&CheckReport) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Leaves out the checks that have not ended when this is cancelled, and stops what they run.
    pub fn stop(mut self, stop: Cancellation) -> Self {
        self.stop = stop;
        self
    }

    /// Runs only the checks with these names.
    ///
    /// The report then passes [`assert_part_passed`](crate::Report::assert_part_passed), never
    /// [`assert_passed`](crate::Report::assert_passed).
    ///
    /// # Panics
    ///
    /// When a check does not exist.
    pub fn only<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.only = names.into_iter().map(Into::into).collect();
        self.only.iter().for_each(|name| assert_known(name));
        self
    }

    /// Skips a check, with a reason for the report. A required check fails instead.
    ///
    /// # Panics
    ///
    /// When the check does not exist.
    pub fn skip(mut self, name: impl Into<String>, reason: impl Into<String>) -> Self {
        let name = name.into();
        assert_known(&name);
        self.skipped.push((name, reason.into()));
        self
    }

    /// Validates the options as a whole.
    ///
    /// # Panics
    ///
    /// When a call that obeys the contract could miss its deadline.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        let grace = self.config.graceful_kill_timeout;
        assert!(
            grace < self.deadline,
            "graceful_kill_timeout is {}, so a stage that was cancelled may take longer than the \
             deadline of {}; let the runner's grace period be a few seconds",
            HumanDuration(grace),
            HumanDuration(self.deadline)
        );
    }

    pub(crate) fn includes(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    pub(crate) fn reason_to_skip(&self, name: &str) -> Option<&str> {
        let found = self.skipped.iter().find(|(skipped, _)| skipped == name);
        found.map(|(_, reason)| reason.as_str())
    }
}

/// Returns the names of all checks of the suite, in their order.
pub fn check_names() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|check| check.name)
}

fn assert_known(name: &str) {
    assert!(
        check_names().any(|it| it == name),
        "there is no check {name:?}; the checks are {:?}",
        check_names().collect::<Vec<_>>()
    );
}

impl fmt::Debug for SuiteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuiteOptions")
            .field("config", &self.config)
            .field("jobs", &self.jobs)
            .field("deadline", &self.deadline)
            .field("promptness", &self.promptness)
            .field("leftovers", &self.leftovers.is_some())
            .field("only", &self.only)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}
