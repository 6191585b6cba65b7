//! The directories of a job, announced before its environment is prepared.

use crate::workspace::Workspace;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Lets an executor announce the job's directories while it still prepares.
///
/// The driver of a job sets it in [`PrepareOptions`](crate::PrepareOptions) when it can place files early.
/// An executor whose environment will use directories of this host may announce them as soon as it
/// knows them, but need not. From then on:
///
/// - only the driver creates and fills `project_dir`, possibly before `prepare` returns: the executor
///   neither creates nor changes it;
/// - `temp_dir` of this host may still change, so the driver places no files in it;
/// - the announcement is not binding. When `prepare` fails, or returns an environment with other
///   directories, the driver removes the directories it created.
///
/// # Examples
///
/// ```
/// use executor_core::{BuildDirs, PlannedWorkspace, Workspace};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let planned = PlannedWorkspace::new();
/// planned.announce(Workspace::Local(BuildDirs::default()));
/// assert!(planned.announced().await.is_local());
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct PlannedWorkspace {
    workspace: Arc<OnceLock<Workspace>>,
    is_set: CancellationToken,
}

impl PlannedWorkspace {
    /// Returns a plan without an announcement.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces the workspace. The first announcement counts.
    pub fn announce(&self, workspace: Workspace) {
        let _ = self.workspace.set(workspace);
        self.is_set.cancel();
    }

    /// Returns whether a workspace is announced.
    pub fn is_announced(&self) -> bool {
        self.workspace.get().is_some()
    }

    /// Waits until a workspace is announced, possibly forever.
    ///
    /// # Cancellation
    ///
    /// The future can be dropped at any time.
    pub async fn announced(&self) -> Workspace {
        loop {
            self.is_set.cancelled().await;
            if let Some(workspace) = self.workspace.get() {
                return workspace.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::BuildDirs;

    fn at(builds_dir: &str) -> Workspace {
        Workspace::Local(BuildDirs {
            builds_dir: builds_dir.to_owned(),
            ..BuildDirs::default()
        })
    }

    #[tokio::test]
    async fn first_announcement_reaches_early_and_late_readers() {
        let planned = PlannedWorkspace::new();
        assert!(!planned.is_announced());
        let announcer = planned.clone();
        let (waited, ()) = tokio::join!(planned.announced(), async {
            announcer.announce(at("/first"));
            announcer.announce(at("/second"));
        });
        assert!(planned.is_announced());
        assert_eq!(waited.dirs().builds_dir, "/first");
        assert_eq!(planned.announced().await.dirs().builds_dir, "/first");
    }
}
