mod aftermath;
mod check;
mod checks;
mod marked;
mod memory;
mod options;
mod report;
mod session;
mod suite;

pub use options::SuiteOptions;
pub use report::{CheckReport, Report, Verdict};

use executor_core::ExecutorProvider;
use std::sync::Arc;

/// Checks that a provider and its executors keep to the contract of `executor-core`.
///
/// It works through the two traits alone, wherever the files are, with plain POSIX scripts. Checks
/// run one after the other; each has deadlines, so that an executor that hangs is a failed check.
/// What an executor may leave out is skipped by name; exit codes, output, `cancel`, `abort`, timeouts
/// and cleanup it may not leave out.
///
/// Run it on a runtime with several threads: a check must go on when the executor blocks its thread.
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
