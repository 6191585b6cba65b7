//! What stops a call of a driver.

use executor_core::{Cancellation, StopLevel};
use process::StopSignal;
use std::future::pending;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a driver may handle SIGTERM after an abort.
///
/// A driver passes the signal on, to another machine perhaps; killed at once, it would leave the job running there.
const ABORT_GRACE: Duration = Duration::from_secs(5);

/// Stops a call on request of the job, when its time is up, or when its output is too long.
#[derive(Debug)]
pub(crate) struct CallStop<'a> {
    /// `None` for a cleanup, which a job cannot stop.
    pub(crate) job: Option<&'a Cancellation>,
    pub(crate) deadline: Option<Instant>,
    /// Set when the output is too long.
    pub(crate) overflow: &'a CancellationToken,
}

impl StopSignal for CallStop<'_> {
    async fn reached(&self, level: StopLevel) {
        let job = async {
            let Some(job) = self.job else {
                return pending().await;
            };
            if level == StopLevel::Abort {
                job.aborted().await;
                sleep(ABORT_GRACE).await;
            } else {
                job.canceled().await;
            }
        };
        let time = async {
            match self.deadline.filter(|_| level == StopLevel::Cancel) {
                Some(deadline) => sleep_until(deadline).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = job => {}
            () = time => {}
            () = self.overflow.cancelled() => {}
        }
    }
}
