//! Whether the memory of a job's container ran out.

use crate::exec::PodExec;
use std::time::Duration;

/// The time limit of the question.
const PATIENCE: Duration = Duration::from_secs(5);

/// Prints the counters of the container's control group: that of version 2, or that of version 1.
const COUNTERS: &str =
    "cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null || true";

/// Returns how many processes of the container the kernel has killed because its memory ran out; `None` when that is unknown. One
/// that a script has survived counts for the next one that is killed.
///
/// The agent survives such a kill, because the script is larger. Where the kernel kills the whole container, its state says so.
pub(crate) async fn oom_kills(exec: &PodExec) -> Option<u64> {
    match exec.run(COUNTERS, &[], PATIENCE).await {
        Ok(counters) => Some(count(&counters)),
        Err(error) => {
            let error = executor_core::chain(&error);
            tracing::debug!(pod = exec.pod, error, "The memory events cannot be read.");
            None
        }
    }
}

fn count(counters: &str) -> u64 {
    let mut pairs = counters.lines().filter_map(|it| it.split_once(' '));
    let kills = pairs.find(|(name, _)| *name == "oom_kill");
    kills.map_or(0, |(_, count)| count.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_found_in_both_versions() {
        assert_eq!(count("low 0\nmax 12\noom 3\noom_kill 2\n"), 2);
        assert_eq!(count("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
        assert_eq!(count(""), 0);
    }
}
