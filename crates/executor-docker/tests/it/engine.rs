//! Connections to the engine.

use crate::support::engine;

#[tokio::test]
async fn the_engine_says_who_it_is() {
    let engine = engine().await;
    assert!(engine.is_local());
    assert_eq!(engine.version().os, "linux");
    let info = engine.info().await.unwrap();
    assert!(info.id.is_some_and(|id| !id.is_empty()));
}
