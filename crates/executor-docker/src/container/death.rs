//! Noticing that nothing runs in a container any more, before the engine has removed it.

use crate::engine::Engine;
use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt;
use std::collections::HashMap;

/// Returns when the last process of the container is dead; never when the engine does not say so.
///
/// It says so as soon as it hears of it. Every other answer, that to a kill too, comes after network and file system
/// are taken apart, which takes as long again.
pub(crate) async fn death(engine: Engine, container: String) {
    let filters = HashMap::from([
        ("container".to_owned(), vec![container]),
        ("event".to_owned(), vec!["die".to_owned()]),
    ]);
    let options = EventsOptions {
        filters: Some(filters),
        ..EventsOptions::default()
    };
    let events = engine.api().events(Some(options));
    tokio::pin!(events);
    if !matches!(events.next().await, Some(Ok(_))) {
        std::future::pending::<()>().await;
    }
}
