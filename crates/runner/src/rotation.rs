//! New tokens for runners whose tokens expire.

use crate::api::{RunnerAnswer, Server};
use crate::config::RunnerSettings;
use crate::metrics::RunnerMetrics;
use executor_core::chain;
use executor_core::job::SecretString;
use gitlab_api::runner::RunnerCall;
use jiff::Timestamp;
use std::fmt::Debug;
use std::sync::Arc;
use web::Url;

/// The flag that keeps tokens until they expire.
const KEPT: &str = "FF_DISABLE_AUTOMATIC_TOKEN_ROTATION";

/// Keeps the tokens of runners. The calls block.
pub trait TokenStore: Send + Sync + Debug {
    /// Checks that a token could be saved: the old one is void once there is a new one.
    ///
    /// # Errors
    ///
    /// The reason why not.
    fn check(&self) -> Result<(), String>;

    /// Saves the new token of the runner that has `old` at `url`.
    ///
    /// # Errors
    ///
    /// The reason why it is not saved.
    fn save(&self, url: &Url, old: &SecretString, new: &NewToken) -> Result<(), String>;
}

/// A token that a server has issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The token.
    pub token: SecretString,
    /// When it was issued.
    pub obtained_at: Timestamp,
    /// When it expires; `None` for never.
    pub expires_at: Option<Timestamp>,
}

/// Returns whether three quarters of the life of a runner's token are over.
pub(crate) fn is_due(settings: &RunnerSettings, now: Timestamp) -> bool {
    if settings.feature_flags.get(KEPT) == Some(&true) {
        return false;
    }
    let (Some(obtained), Some(expires)) = (settings.token_obtained_at, settings.token_expires_at)
    else {
        return false;
    };
    let life = expires.as_second().saturating_sub(obtained.as_second());
    life > 0 && now.as_second().saturating_sub(obtained.as_second()) >= life / 4 * 3
}

/// Replaces a runner's token at the server and in the store. `None` if the runner keeps its token; the log says why.
pub(crate) async fn rotate(
    server: Server,
    settings: Arc<RunnerSettings>,
    store: Arc<dyn TokenStore>,
) -> Option<NewToken> {
    let runner = &settings.config.name;
    let checked = blocking(&store, |store| store.check()).await;
    if let Err(reason) = checked {
        tracing::error!(%runner, "The token is not replaced: {reason}.");
        return None;
    }
    let call = RunnerCall {
        token: settings.config.token.clone(),
        ..RunnerCall::default()
    };
    let metrics = server.metrics().map(RunnerMetrics::process);
    let answer = match server.reset_token(&call).await {
        Ok(RunnerAnswer::Runner(answer)) if !answer.token.is_empty() => answer,
        Ok(answer) => {
            tracing::error!(%runner, ?answer, "The server does not replace the token.");
            return None;
        }
        Err(error) => {
            tracing::warn!(%runner, "The token is not replaced yet: {}.", chain(&error));
            return None;
        }
    };
    let new = NewToken {
        token: answer.token,
        obtained_at: Timestamp::now(),
        expires_at: answer.token_expires_at.and_then(|it| it.parse().ok()),
    };
    let saved = {
        let (url, old, new) = (
            settings.url.clone(),
            settings.config.token.clone(),
            new.clone(),
        );
        blocking(&store, move |store| store.save(&url, &old, &new)).await
    };
    match saved {
        Ok(()) => {
            metrics.inspect(|it| it.configuration_saved());
            tracing::info!(%runner, "The runner has a new token.");
        }
        Err(reason) => {
            metrics.inspect(|it| it.configuration_not_saved());
            tracing::error!(%runner, "The new token is not in config.toml: {reason}. It is used until this process ends.");
        }
    }
    Some(new)
}

async fn blocking(
    store: &Arc<dyn TokenStore>,
    work: impl FnOnce(&dyn TokenStore) -> Result<(), String> + Send + 'static,
) -> Result<(), String> {
    let store = Arc::clone(store);
    let done = tokio::task::spawn_blocking(move || work(&*store)).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}
