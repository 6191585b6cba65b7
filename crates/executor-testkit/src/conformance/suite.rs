use crate::conformance::check::{CHECKS, Check, Need, Outcome, Stop, ensure, failed};
use crate::conformance::marked;
use crate::conformance::options::SuiteOptions;
use crate::conformance::report::{CheckReport, Report, Verdict};
use executor_core::{ExecutorProvider, FeaturesInfo, HumanDuration, JobSlot, ShellDialect};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::task::JoinSet;

/// The memory of this process, shared by all suites and measured by one check.
static MEMORY: RwLock<()> = RwLock::const_new(());

/// The check that measures the memory.
const MEASURES: &str = "bounded_memory";

/// Keeps other suites from running during the check that measures memory.
#[derive(Debug)]
enum MemoryGuard {
    Exclusive(#[expect(dead_code, reason = "released on drop")] RwLockWriteGuard<'static, ()>),
    Shared(#[expect(dead_code, reason = "released on drop")] RwLockReadGuard<'static, ()>),
}

impl MemoryGuard {
    async fn of(check: &Check) -> Self {
        if check.name == MEASURES {
            Self::Exclusive(MEMORY.write().await)
        } else {
            Self::Shared(MEMORY.read().await)
        }
    }
}

/// The state shared by all checks.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) provider: Arc<dyn ExecutorProvider>,
    pub(crate) options: SuiteOptions,
    /// The mark in the environment of all processes of this suite.
    pub(crate) mark: String,
    slots: AtomicU32,
}

impl Suite {
    pub(crate) fn new(provider: Arc<dyn ExecutorProvider>, options: SuiteOptions) -> Arc<Self> {
        options.assert_sound();
        Arc::new(Self {
            provider,
            options,
            mark: marked::new_mark(),
            slots: AtomicU32::new(0),
        })
    }

    pub(crate) async fn run_all(self: Arc<Self>) -> Report {
        let mut report = Report::default();
        for check in CHECKS {
            if !self.options.includes(check.name) || self.options.stop.is_canceled() {
                report.left_out.push(check.name);
                continue;
            }
            let _guard = MemoryGuard::of(check).await;
            let start = Instant::now();
            let verdict = self.run(check).await;
            if self.options.stop.is_canceled() {
                report.left_out.push(check.name);
                continue;
            }
            let ended = CheckReport {
                name: check.name,
                contract: check.contract,
                verdict,
                duration: start.elapsed(),
            };
            if let Some(watcher) = &self.options.watcher {
                watcher(&ended);
            }
            report.checks.push(ended);
        }
        report
    }

    async fn run(self: &Arc<Self>, check: &Check) -> Verdict {
        if check.need == Need::Concurrent && self.options.has_room_for_one {
            return Verdict::Skipped(
                "it needs two jobs at once, and there is room for one".to_owned(),
            );
        }
        let outcome = match self.options.reason_to_skip(check.name) {
            Some(reason) => Err(Stop::Skipped(reason.to_owned())),
            None => self.attempt(check).await,
        };
        match outcome {
            Ok(()) => Verdict::Passed,
            Err(Stop::Failed(reason)) => Verdict::Failed(reason),
            Err(Stop::Skipped(reason)) if check.need != Need::Optional => {
                Verdict::Failed(format!("it cannot be skipped: {reason}"))
            }
            Err(Stop::Skipped(reason)) => Verdict::Skipped(reason),
        }
    }

    /// Runs a check in a separate task, so that a panic ends the check and not the suite.
    async fn attempt(self: &Arc<Self>, check: &Check) -> Outcome {
        let mut task = JoinSet::new();
        task.spawn((check.run)(Arc::clone(self)));
        match task.join_next().await {
            Some(Ok(outcome)) => outcome,
            // The error contains the panic's message.
            Some(Err(error)) => failed(error.to_string()),
            None => failed("the check vanished"),
        }
    }

    /// Returns unique numbers within this suite.
    pub(crate) fn next_slot(&self) -> JobSlot {
        let number = self.slots.fetch_add(1, Ordering::Relaxed);
        JobSlot {
            concurrent_id: number,
            concurrent_project_id: number,
        }
    }

    pub(crate) fn features(&self) -> Outcome<FeaturesInfo> {
        let mut features = FeaturesInfo::default();
        match self.provider.features(&mut features) {
            Ok(()) => Ok(features),
            Err(error) => failed(format!("features: {error}")),
        }
    }

    /// Fails where the suite cannot find leftovers.
    pub(crate) fn ensure_can_look(&self, is_local: bool) -> Outcome {
        ensure!(
            self.can_look(is_local),
            "set SuiteOptions::leftovers: the suite cannot find the leftovers of a job itself"
        );
        Ok(())
    }

    /// Returns whether the suite can find leftovers.
    pub(crate) fn can_look(&self, is_local: bool) -> bool {
        self.options.leftovers.is_some() || (is_local && marked::can_list())
    }

    /// Returns the leftovers listed by the author's function.
    ///
    /// It retries for the time of a prompt call, because a removal may take a moment.
    pub(crate) async fn leftovers(&self) -> Vec<String> {
        let Some(find) = &self.options.leftovers else {
            return Vec::new();
        };
        let deadline = tokio::time::Instant::now() + self.options.promptness;
        loop {
            let found = find();
            if found.is_empty() || tokio::time::Instant::now() >= deadline {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Returns the deadline of a stage after a `cancel`.
    pub(crate) fn after_cancel(&self) -> Duration {
        self.options.config.graceful_kill_timeout + self.options.promptness
    }

    /// Returns the sleep in seconds of a script that a check stops.
    ///
    /// It is longer than any check waits, but finite, so that leftovers of a broken executor end.
    pub(crate) fn nap(&self) -> u64 {
        (3 * self.after_cancel()).as_secs().max(120)
    }
}

/// Fails for a shell that cannot run the suite's scripts.
pub(crate) fn ensure_posix(dialect: ShellDialect) -> Outcome {
    if dialect.is_posix() {
        return Ok(());
    }
    failed(format!(
        "the scripts of the suite are POSIX, and the shell is {dialect}; set `shell` in the settings"
    ))
}

/// Awaits a call with a deadline.
pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    call: impl Future<Output = T>,
) -> Outcome<T> {
    match tokio::time::timeout(limit, call).await {
        Ok(value) => Ok(value),
        Err(_) => failed(format!("{what} took longer than {}", HumanDuration(limit))),
    }
}
