//! A transfer of files that gets no further.

use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// How long the engine may neither take anything of a transfer nor give anything: as long as the agent waits.
pub(crate) const LONGEST_STALL: Duration = Duration::from_mins(5);

/// Waits for the next step of a transfer, at most so long.
pub(crate) async fn unless_stalled<T>(
    longest: Duration,
    step: impl Future<Output = T>,
) -> io::Result<T> {
    timeout(longest, step).await.map_err(|_| {
        let words = "the files were neither sent nor taken for too long";
        io::Error::new(io::ErrorKind::TimedOut, words)
    })
}
