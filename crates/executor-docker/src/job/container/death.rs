//! Noticing that nothing runs in a container any more, before the engine has removed it.

use crate::engine::Engine;
use crate::job::container::watch::told_of;
use std::time::SystemTime;

/// Returns when the last process of the container is dead; never when the engine does not say so.
///
/// It says so as soon as it hears of it. Every other answer, that to a kill too, comes after network and file system
/// are taken apart, which takes as long again.
pub(crate) async fn death(engine: Engine, container: String) {
    // It may be removed before the engine hears that somebody listens.
    let since = Some(SystemTime::now());
    told_of(&engine, &container, "die", since).await;
}
