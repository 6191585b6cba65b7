//! The result of a stage, as the engine reports it.

use crate::engine::Engine;
use bollard::query_parameters::EventsOptions;
use executor_core::{StageResult, StageStatus};
use futures_util::StreamExt;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// The time limit for events of the engine.
const ANSWER: Duration = Duration::from_secs(5);
/// How long after the end of a script the engine may learn of an out-of-memory kill.
const LATE: Duration = Duration::from_secs(1);

/// Returns the result of a stage that ended with this code.
pub(crate) fn result_of(code: i64, duration: Duration, bytes: [u64; 2]) -> StageResult {
    let code = i32::try_from(code).unwrap_or(255);
    let [stdout_bytes, stderr_bytes] = bytes;
    StageResult {
        duration,
        stdout_bytes,
        stderr_bytes,
        ..StageResult::new(StageStatus::Exited(executor_core::ExitCode(code)))
    }
}

/// Returns whether the kernel killed a process of the container since `begun` for lack of memory.
pub(crate) async fn ran_out_of_memory(engine: &Engine, container: &str, begun: Instant) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let since = now.as_secs().saturating_sub(begun.elapsed().as_secs() + 2);
    let until = now + LATE;
    let until = format!("{}.{:09}", until.as_secs(), until.subsec_nanos());
    let filters = HashMap::from([
        ("container".to_owned(), vec![container.to_owned()]),
        ("event".to_owned(), vec!["oom".to_owned()]),
    ]);
    let options = EventsOptions {
        since: Some(since.to_string()),
        until: Some(until),
        filters: Some(filters),
    };
    let events = engine.api().events(Some(options));
    tokio::pin!(events);
    let first = tokio::time::timeout(ANSWER, events.next()).await;
    matches!(first, Ok(Some(Ok(_))))
}
