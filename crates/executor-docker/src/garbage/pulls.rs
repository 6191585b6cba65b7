//! Pulls that somebody else asked for, as the engine remembers them.

use super::ledger::Ledger;
use super::names::in_full;
use super::notes::ObservedPull;
use crate::engine::Engine;
use crate::error::DockerError;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::TryStreamExt;
use std::collections::HashMap;

impl Ledger {
    /// Looks for images that somebody has pulled by hand since we did: he wants them, so they are his from now on.
    ///
    /// An engine remembers few events, the last 256 of all kinds. So this is done often: before each run and each
    /// collection.
    ///
    /// # Errors
    ///
    /// When the engine does not tell, or the result cannot be noted.
    pub async fn notice_pulls(&self, engine: &Engine) -> Result<(), DockerError> {
        let ours = self.read()?;
        let pulled = ours.images.values().filter_map(|note| note.pulled);
        let Some(first) = pulled.min() else {
            return Ok(());
        };
        let there = |seconds: u64| seconds.saturating_add_signed(self.ahead());
        let filters = [("type", vec!["image"]), ("event", vec!["pull"])];
        let options = EventsOptionsBuilder::default()
            .since(&there(first).to_string())
            .until(&there(super::ledger::now()).to_string())
            .filters(&HashMap::from(filters))
            .build();
        let events = engine.api().events(Some(options)).try_collect::<Vec<_>>();
        let events = engine.call("ask which images were pulled", events).await?;
        let seen: Vec<ObservedPull> = events
            .into_iter()
            .filter_map(|event| {
                let at = u64::try_from(event.time?).ok()?;
                Some(ObservedPull {
                    name: in_full(&event.actor?.id?)?,
                    at: at.saturating_add_signed(-self.ahead()),
                })
            })
            .collect();
        // Who pulls now may be one of us, who has not noted it yet.
        if seen.is_empty() || self.is_pulling()? {
            return Ok(());
        }
        self.change(|notes| notes.see_pulls(&seen))
    }
}
