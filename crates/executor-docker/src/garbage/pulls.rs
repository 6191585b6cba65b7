//! Pulls by the user, from the engine's events.

use super::ledger::Ledger;
use super::names::in_full;
use super::notes::ObservedPull;
use crate::engine::Engine;
use crate::error::DockerError;
use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::TryStreamExt;
use std::collections::HashMap;

impl Ledger {
    /// Finds images that the user pulled after we did; the user owns them from then on.
    ///
    /// An engine keeps only the last 256 events. So this is called before each run and each collection.
    ///
    /// # Errors
    ///
    /// When the engine does not answer, or the result cannot be recorded.
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
        let events = engine.call("list pulls of images", events).await?;
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
        // A pull in progress may be ours and not recorded yet.
        if seen.is_empty() || self.is_pulling()? {
            return Ok(());
        }
        self.change(move |notes| notes.see_pulls(&seen)).await
    }
}
