//! The tasks that somebody owns.

use parking_lot::{Mutex, MutexGuard};
use std::mem;
use std::sync::Arc;

use tokio::task::JoinSet;

/// A set of tasks that more can be added to from anywhere. They end when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    set: Arc<Mutex<JoinSet<()>>>,
}

impl Tasks {
    /// Starts a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.lock();
        // What has ended is collected here, so that the set does not grow.
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }

    /// Waits for the end of all tasks, also of those that are added meanwhile.
    pub(crate) async fn join(&self) {
        loop {
            let mut set = mem::take(&mut *self.lock());
            if set.is_empty() {
                return;
            }
            while set.join_next().await.is_some() {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.set.lock()
    }
}
