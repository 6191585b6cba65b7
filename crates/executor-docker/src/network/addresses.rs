//! Waits for a free range of addresses.

use super::plan::is_out_of_addresses;
use crate::error::DockerError;
use executor_core::Cancellation;
use std::time::Duration;
use tokio::time::Instant;

/// How long a job waits for a free range of addresses.
const WAIT_FOR_ADDRESSES: Duration = Duration::from_secs(30);

/// Calls `create` until the engine has a free range of addresses; calls `report` when it starts to wait.
pub(super) async fn when_addresses_are_free<F: Future<Output = Result<(), DockerError>>>(
    report: impl Fn(),
    cancellation: &Cancellation,
    mut create: impl FnMut() -> F,
) -> Result<(), DockerError> {
    let end = Instant::now() + WAIT_FOR_ADDRESSES;
    let mut pause = Duration::from_millis(250);
    loop {
        let (doing, status, message) = match create().await {
            Err(DockerError::Api {
                doing,
                status,
                message,
            }) if is_out_of_addresses(&message) => (doing, status, message),
            created => return created,
        };
        if Instant::now() + pause > end {
            return Err(DockerError::Api {
                doing,
                status,
                message: format!(
                    "{message}; remove unused networks, or give the engine more addresses (default-address-pools in its settings)"
                ),
            });
        }
        if pause == Duration::from_millis(250) {
            report();
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            cause = cancellation.canceled() => return Err(cause.into()),
        }
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;
    use std::cell::Cell;

    fn full() -> DockerError {
        DockerError::Api {
            doing: "create network n".to_owned(),
            status: 403,
            message: "could not find an available, non-overlapping IPv4 address pool".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_waits_for_addresses_and_reports_it_once() {
        let (tries, told) = (Cell::new(0), Cell::new(0));
        let cancellation = Cancellation::new();
        let created = when_addresses_are_free(
            || told.set(told.get() + 1),
            &cancellation,
            async || {
                tries.set(tries.get() + 1);
                if tries.get() < 5 { Err(full()) } else { Ok(()) }
            },
        );
        created.await.expect("it is created at last");
        assert_eq!((tries.get(), told.get()), (5, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_does_not_wait_forever() {
        let (began, cancellation) = (Instant::now(), Cancellation::new());
        let never = when_addresses_are_free(|| (), &cancellation, async || Err(full()));
        let error = never.await.expect_err("there is none").to_string();
        assert!(error.contains("default-address-pools"), "{error}");
        assert!(began.elapsed() <= WAIT_FOR_ADDRESSES);
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_and_a_stop_end_it_at_once() {
        let (began, cancellation) = (Instant::now(), Cancellation::new());
        let other = || DockerError::config("no");
        let failed = when_addresses_are_free(|| (), &cancellation, async || Err(other()));
        assert!(failed.await.is_err());
        cancellation.cancel(CancelCause::User);
        let stopped = when_addresses_are_free(|| (), &cancellation, async || Err(full()));
        assert!(matches!(stopped.await, Err(DockerError::Canceled(_))));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
