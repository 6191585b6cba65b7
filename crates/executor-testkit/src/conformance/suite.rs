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

/// The memory of this process, which all suites in it use, and one check measures.
static MEMORY: RwLock<()> = RwLock::const_new(());

/// The check that measures it.
const MEASURES: &str = "bounded_memory";

/// What a check holds while it runs, so that none counts what another suite needs as its executor's.
#[derive(Debug)]
enum Turn {
    Alone(#[expect(dead_code, reason = "it is given back")] RwLockWriteGuard<'static, ()>),
    Beside(#[expect(dead_code, reason = "it is given back")] RwLockReadGuard<'static, ()>),
}

impl Turn {
    async fn of(check: &Check) -> Self {
        if check.name == MEASURES {
            Self::Alone(MEMORY.write().await)
        } else {
            Self::Beside(MEMORY.read().await)
        }
    }
}

/// What all checks share.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) provider: Arc<dyn ExecutorProvider>,
    pub(crate) options: SuiteOptions,
    /// Marks the processes of this run of the suite, in their environment.
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
            if !self.options.includes(check.name) {
                report.left_out.push(check.name);
                continue;
            }
            let _turn = Turn::of(check).await;
            let start = Instant::now();
            let verdict = self.run(check).await;
            report.checks.push(CheckReport {
                name: check.name,
                verdict,
                duration: start.elapsed(),
            });
        }
        report
    }

    async fn run(self: &Arc<Self>, check: &Check) -> Verdict {
        let outcome = match self.options.reason_to_skip(check.name) {
            Some(reason) => Err(Stop::Skipped(reason.to_owned())),
            None => self.attempt(check).await,
        };
        match outcome {
            Ok(()) => Verdict::Passed,
            Err(Stop::Failed(reason)) => Verdict::Failed(reason),
            Err(Stop::Skipped(reason)) if check.need == Need::Required => {
                Verdict::Failed(format!("it cannot be skipped: {reason}"))
            }
            Err(Stop::Skipped(reason)) => Verdict::Skipped(reason),
        }
    }

    /// Runs a check on a task of its own, so that a panic ends the check and not the suite.
    async fn attempt(self: &Arc<Self>, check: &Check) -> Outcome {
        let mut task = JoinSet::new();
        task.spawn((check.run)(Arc::clone(self)));
        match task.join_next().await {
            Some(Ok(outcome)) => outcome,
            // The text of a panic is part of it.
            Some(Err(error)) => failed(error.to_string()),
            None => failed("the check vanished"),
        }
    }

    /// Returns numbers that no other job of this suite has.
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

    /// Fails where nobody could tell what a job left behind.
    pub(crate) fn ensure_can_look(&self, is_local: bool) -> Outcome {
        ensure!(
            self.can_look(is_local),
            "set SuiteOptions::leftovers: what a job leaves behind cannot be seen from here"
        );
        Ok(())
    }

    /// Returns whether anybody can tell what a job left behind.
    pub(crate) fn can_look(&self, is_local: bool) -> bool {
        self.options.leftovers.is_some() || (is_local && marked::can_list())
    }

    /// Returns what the author's function finds, which is given the time of a prompt call to find
    /// nothing: what was told to go may take a moment.
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

    /// Returns how long a stage may take to return after it was cancelled.
    pub(crate) fn after_cancel(&self) -> Duration {
        self.options.config.graceful_kill_timeout + self.options.promptness
    }

    /// Returns how many seconds a script sleeps that is to be stopped: longer than any check waits
    /// for that, and no longer, so that what a broken executor leaves behind goes away.
    pub(crate) fn nap(&self) -> u64 {
        (3 * self.after_cancel()).as_secs().max(120)
    }
}

/// Fails where the scripts of the suite cannot run.
pub(crate) fn ensure_posix(dialect: ShellDialect) -> Outcome {
    if dialect.is_posix() {
        return Ok(());
    }
    failed(format!(
        "the scripts of the suite are POSIX, and the shell is {dialect}; set `shell` in the settings"
    ))
}

/// Awaits a call that must end in time.
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
