//! Where a job's files are going to be, told before its environment is there.

use crate::workspace::Workspace;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Where an executor says, while it prepares, where the job's files are going to be.
///
/// Whoever drives a job puts one into [`PrepareOptions`](crate::PrepareOptions) when it could bring files
/// meanwhile. An executor whose environment will see directories of this host may announce them as soon as
/// it knows them; no executor has to. From then on:
///
/// - the driver alone makes and fills `project_dir`, and may begin before `prepare` returns: the executor
///   neither makes nor changes it;
/// - `temp_dir` of this host may turn out to be another: nothing is brought there before;
/// - a plan may come to nothing. When `prepare` fails, or returns an environment whose directories are
///   others, the driver removes what it has made.
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
    /// Returns one that nothing was announced in.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says where the files are going to be. What was said first counts.
    pub fn announce(&self, workspace: Workspace) {
        let _ = self.workspace.set(workspace);
        self.is_set.cancel();
    }

    /// Returns whether something was announced.
    pub fn is_announced(&self) -> bool {
        self.workspace.get().is_some()
    }

    /// Waits until something is announced, perhaps for ever.
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
    async fn what_was_announced_first_reaches_who_waits_and_who_comes_later() {
        let planned = PlannedWorkspace::new();
        assert!(!planned.is_announced());
        let says = planned.clone();
        let (waited, ()) = tokio::join!(planned.announced(), async {
            says.announce(at("/first"));
            says.announce(at("/second"));
        });
        assert!(planned.is_announced());
        assert_eq!(waited.dirs().builds_dir, "/first");
        assert_eq!(planned.announced().await.dirs().builds_dir, "/first");
    }
}
