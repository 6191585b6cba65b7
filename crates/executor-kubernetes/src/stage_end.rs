//! A stage that ends with its pod.

use crate::config::NAME;
use crate::created::Created;
use crate::error::KubernetesError;
use executor_core::{BuildError, CancelCause, Cancellation, HumanDuration, JobTrace, Retryability};
use std::pin::Pin;
use std::time::Duration;
use steps::StepsError;
use tokio::time::timeout;

/// How long the last output of a pod that has ended may take.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// How long the end of a pod may take to be visible after that of its agent.
const PARTING: Duration = Duration::from_secs(15);

/// Awaits a stage; the error is the end of its pod.
pub(crate) async fn unless_ended<T, E>(
    created: &mut Created,
    trace: &dyn JobTrace,
    mut running: Pin<&mut impl Future<Output = Result<T, E>>>,
) -> Result<Result<T, E>, KubernetesError> {
    tokio::select! {
        biased;
        ran = &mut running => Ok(ran),
        error = created.ended(trace) => match timeout(LAST_OUTPUT, running).await {
            // The script had ended before.
            Ok(Ok(result)) => Ok(Ok(result)),
            _ => Err(error),
        },
    }
}

/// Returns the error of a stage. The end of the pod is its reason, if it is visible soon.
pub(crate) async fn explain(
    error: StepsError,
    created: &mut Created,
    trace: &dyn JobTrace,
    cancellation: &Cancellation,
) -> BuildError {
    let patience = match error {
        // A pod that ends stops its agent, which may say so first.
        StepsError::Canceled(CancelCause::EnvironmentLost) => PARTING,
        StepsError::Lost { .. } => Duration::ZERO,
        error => return error.into(),
    };
    let ended = tokio::select! {
        biased;
        ended = timeout(patience, created.ended(trace)) => ended.ok(),
        _ = cancellation.canceled() => None,
    };
    match (ended, error) {
        (Some(ended), _) => ended.into(),
        (None, StepsError::Lost { since, source }) => BuildError::System {
            backend: NAME,
            message: format!("the pod could not be reached for {}", HumanDuration(since)),
            source: Some(source),
            retry: Retryability::Permanent,
        },
        (None, error) => error.into(),
    }
}
