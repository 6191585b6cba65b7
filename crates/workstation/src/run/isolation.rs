//! The isolation of jobs, and the sources of their files.

use crate::history::state::ProjectState;
use crate::project::local_project::LocalProject;
use job_runner::{Snapshot, SnapshotMethod, SnapshotUsers, Sources, Worktree};
use pipeline::Plan;
use std::sync::Arc;

/// How jobs are isolated from each other and from the working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each job gets a copy of the working tree as the first job found it, without ignored files.
    Snapshot(SnapshotMethod),
    /// Each job has a Git worktree of the current commit. It sees no uncommitted changes, and shares branches and
    /// commits with the user's repository.
    Worktree,
    /// No isolation: jobs run in the working tree itself, and one run at a time.
    None,
}

impl Default for Isolation {
    fn default() -> Self {
        Self::Snapshot(SnapshotMethod::default())
    }
}

/// The sources of a run before it is planned.
#[derive(Debug)]
pub(crate) enum Prepared {
    Snapshot(Box<Snapshot>),
    Worktree(Worktree),
    InPlace,
}

impl Prepared {
    pub(crate) fn new(isolation: Isolation, project: &LocalProject, state: &ProjectState) -> Self {
        let root = project.root();
        match isolation {
            Isolation::Snapshot(method) => {
                let snapshot = Snapshot::new(root, state.snapshots()).with_method(method);
                Self::Snapshot(Box::new(snapshot))
            }
            Isolation::Worktree => Self::Worktree(Worktree::new(root)),
            Isolation::None => Self::InPlace,
        }
    }

    /// Returns the sources of the jobs in `plan`.
    pub(crate) fn of_plan(self, plan: &Plan, project: &LocalProject) -> Sources {
        self.for_users(users(plan), project)
    }

    /// Returns the sources of the jobs of several pipelines.
    pub(crate) fn for_many(self, project: &LocalProject) -> Sources {
        self.for_users(SnapshotUsers::Many, project)
    }

    fn for_users(self, users: SnapshotUsers, project: &LocalProject) -> Sources {
        match self {
            Self::Snapshot(snapshot) => Sources::Snapshot(Arc::new(snapshot.with_users(users))),
            Self::Worktree(worktree) => Sources::Worktree(Arc::new(worktree)),
            Self::InPlace => Sources::InPlace(project.root().to_owned()),
        }
    }
}

/// A single job that is not retried and starts no pipeline needs no snapshot besides its own files.
fn users(plan: &Plan) -> SnapshotUsers {
    match plan.jobs() {
        [job]
            if !job.is_bridge()
                && job
                    .definition
                    .retry
                    .as_ref()
                    .is_none_or(|retry| retry.max.unwrap_or_default() == 0) =>
        {
            SnapshotUsers::One
        }
        _ => SnapshotUsers::Many,
    }
}

/// Removes what the sources of a run keep for its jobs.
pub(crate) async fn discard(sources: &Sources) {
    match sources {
        Sources::Snapshot(snapshot) => snapshot.discard().await,
        Sources::Worktree(worktree) => worktree.discard().await,
        Sources::Git(_) | Sources::InPlace(_) | Sources::None => {}
    }
}
