//! Operations on several providers.

use executor_core::{ExecutorProvider, FeaturesInfo, ProviderError};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Returns the features that all providers have, which can be advertised before one is chosen.
pub(crate) fn common_features<'p>(
    providers: impl IntoIterator<Item = &'p Arc<dyn ExecutorProvider>>,
) -> Result<FeaturesInfo, ProviderError> {
    let mut common: Option<FeaturesInfo> = None;
    for provider in providers {
        let mut own = FeaturesInfo::default();
        provider.features(&mut own)?;
        common = Some(common.map_or(own, |common| common.intersection(own)));
    }
    Ok(common.unwrap_or_default())
}

/// Shuts down all providers concurrently, so that each has the full deadline.
///
/// # Errors
///
/// The first error; the others are logged.
pub(crate) async fn shutdown_all<'p>(
    providers: impl IntoIterator<Item = &'p Arc<dyn ExecutorProvider>>,
    deadline: Duration,
) -> Result<(), ProviderError> {
    let mut ends = JoinSet::new();
    for provider in providers {
        let provider = Arc::clone(provider);
        ends.spawn(async move { provider.shutdown(deadline).await });
    }
    let mut first = Ok(());
    while let Some(ended) = ends.join_next().await {
        let ended = ended.unwrap_or_else(|panic| {
            Err(ProviderError {
                message: "a provider panicked during shutdown".to_owned(),
                source: Some(panic.into()),
            })
        });
        match ended {
            Err(error) if first.is_err() => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "Another provider failed to shut down."
                );
            }
            Err(error) => first = Err(error),
            Ok(()) => {}
        }
    }
    first
}
