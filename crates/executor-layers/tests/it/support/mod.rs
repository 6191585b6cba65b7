//! What the tests of several layers use.

mod deaf;
mod terminals;

pub(crate) use deaf::Deaf;
use executor_core::prelude::*;
use executor_testkit::{OptionsBuilder, RecordingTrace};
pub(crate) use terminals::Terminals;

/// Options to prepare with, and the log they write to.
pub(crate) fn options() -> (PrepareOptions, RecordingTrace) {
    let trace = RecordingTrace::new();
    let options = OptionsBuilder::new().trace(Arc::new(trace.clone()));
    (options.build(), trace)
}

/// Prepares without anybody who stops it.
pub(crate) async fn prepare(
    executor: &mut dyn Executor,
) -> Result<PreparedEnvironment, BuildError> {
    executor.prepare(options().0, &Cancellation::new()).await
}

/// Returns the warnings in a log.
pub(crate) fn warnings(trace: &RecordingTrace) -> Vec<String> {
    let text = trace.text(TraceStream::SYSTEM_WARNING);
    text.lines().map(str::to_owned).collect()
}
