//! The result of a stage, as the engine reports it.

use crate::engine::Engine;
use crate::job::container::execs::Execs;
use bollard::models::EventMessage;
use bollard::query_parameters::EventsOptions;
use executor_core::{StageResult, StageStatus};
use futures_util::StreamExt;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout};

/// The time limit for events of the engine.
const ANSWER: Duration = Duration::from_secs(5);
/// How long after the end of a script the engine may publish an event about it.
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
    has_published(engine, container, &["oom"], begun, |_| Some(true)).await
}

/// Prints how many processes of the container the kernel killed for lack of memory, if it can be read.
const PROBE: &str = r#"for file in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  while read -r key count; do
    [ "$key" = oom_kill ] && echo "$key $count"
  done <"$file"
done 2>/dev/null
echo alive"#;

/// The time limit of the probe.
const PROBE_WITHIN: Duration = Duration::from_secs(3);

/// A container that runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// Whether the kernel may have killed processes of it for lack of memory.
    pub(crate) has_oom_kills: bool,
}

/// Starts a process in the container; `None` if that is not possible, for example because it is dead.
pub(crate) async fn probe(execs: &Execs, shell: &str) -> Option<Probe> {
    let command = [shell, "-c", PROBE].map(str::to_owned).to_vec();
    let printed = execs.output(command, PROBE_WITHIN).await.ok()?;
    let printed = String::from_utf8_lossy(&printed);
    let lines: Vec<_> = printed.lines().collect();
    lines.contains(&"alive").then(|| Probe {
        has_oom_kills: !lines.contains(&"oom_kill 0"),
    })
}

/// Returns whether the process of an exec has ended since `begun`.
///
/// An engine that cannot write the output of an exec any more reports an exit code for it, and lets the process run.
/// Only for an end of the process it publishes an event.
pub(crate) async fn exec_has_died(execs: &Execs, exec: &str, begun: Instant) -> bool {
    let is_its = |event: &EventMessage| {
        let attributes = event.actor.as_ref()?.attributes.as_ref()?;
        (attributes.get("execID")? == exec).then_some(true)
    };
    let kinds = ["exec_die"];
    has_published(&execs.engine, &execs.container, &kinds, begun, is_its).await
}

/// Returns whether the engine sent a signal to the container since `begun`.
pub(crate) async fn was_signaled(execs: &Execs, begun: Instant) -> bool {
    has_published(&execs.engine, &execs.container, &["kill"], begun, |_| {
        Some(true)
    })
    .await
}

/// Returns whether the main process of the container has ended since `begun`; it may run again.
pub(crate) async fn container_has_died(execs: &Execs, begun: Instant) -> bool {
    let published = has_published(&execs.engine, &execs.container, &["die"], begun, |_| {
        Some(true)
    });
    // Its scripts died with it, so the event is there already, or nearly.
    timeout(Duration::from_millis(200), published)
        .await
        .unwrap_or_default()
}

/// Returns whether the main process of the container has ended since `begun`, and the engine sent no signal before.
pub(crate) async fn has_ended_by_itself(execs: &Execs, begun: Instant) -> bool {
    let kinds = ["kill", "die"];
    has_published(&execs.engine, &execs.container, &kinds, begun, |event| {
        Some(event.action.as_deref() == Some("die"))
    })
    .await
}

/// Returns what `is_such` returns for the engine's events of these kinds about the container since `begun`; false if it
/// returns nothing for all of them.
async fn has_published(
    engine: &Engine,
    container: &str,
    kinds: &[&str],
    begun: Instant,
    is_such: impl Fn(&EventMessage) -> Option<bool>,
) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let since = now.as_secs().saturating_sub(begun.elapsed().as_secs() + 2);
    let until = now + LATE;
    let until = format!("{}.{:09}", until.as_secs(), until.subsec_nanos());
    let kinds = kinds.iter().map(|kind| (*kind).to_owned());
    let filters = HashMap::from([
        ("container".to_owned(), vec![container.to_owned()]),
        ("event".to_owned(), kinds.collect()),
    ]);
    let options = EventsOptions {
        since: Some(since.to_string()),
        until: Some(until),
        filters: Some(filters),
    };
    let events = engine.api().events(Some(options));
    tokio::pin!(events);
    let search = async {
        while let Some(Ok(event)) = events.next().await {
            if let Some(answer) = is_such(&event) {
                return answer;
            }
        }
        false
    };
    timeout(ANSWER, search).await.unwrap_or(false)
}
