mod check;
mod checks;
mod leftover_probe;
mod marked;
mod memory;
mod options;
mod report;
mod session;
mod suite;

pub use marked::marked_processes;
pub use options::{SuiteOptions, check_names};
pub use report::{CheckReport, Report, Verdict};

use executor_core::ExecutorProvider;
use std::sync::Arc;

/// Checks that a provider and its executors obey the contract of `executor-core`.
///
/// It uses only the two traits and plain POSIX scripts, with local and remote files. Checks run one after
/// the other; each has deadlines, so a hanging executor fails the check. Checks of optional abilities can
/// be skipped by name; those of exit codes, output, `cancel`, `abort`, timeouts and cleanup cannot.
///
/// Run it on a multi-threaded runtime: a check must continue when the executor blocks its thread.
///
/// # Panics
///
/// When the runner's grace period is longer than the suite's deadline.
///
/// # Examples
///
/// ```no_run
/// use executor_core::prelude::*;
/// use executor_testkit::{SuiteOptions, conformance, runner_config};
///
/// # fn my_provider() -> Arc<dyn ExecutorProvider> { unimplemented!() }
/// // In a test: #[tokio::test(flavor = "multi_thread")]
/// # async fn test() {
/// let provider: Arc<dyn ExecutorProvider> = my_provider();
/// let options = SuiteOptions::new(runner_config("mine"));
/// conformance(provider, options).await.assert_passed();
/// # }
/// ```
pub async fn conformance(provider: Arc<dyn ExecutorProvider>, options: SuiteOptions) -> Report {
    suite::Suite::new(provider, options).run_all().await
}
