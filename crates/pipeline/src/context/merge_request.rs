use super::Project;
use std::fmt;

/// The merge request a pipeline runs for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeRequest {
    /// Its id on the server.
    pub id: u64,
    /// Its number within the project.
    pub iid: u64,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// Whether it is not to be merged yet.
    pub is_draft: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// The login names of those who work on it.
    pub assignees: Vec<String>,
    /// Its milestone.
    pub milestone: Option<String>,
    /// Whether it is approved; absent when nobody was asked.
    pub is_approved: Option<bool>,
    /// Whether its commits become one.
    pub squashes: bool,
    /// What was put together for the pipeline.
    pub event: MergeRequestEvent,
    /// The id of the version of its changes.
    pub diff_id: u64,
    /// The commit its changes start at.
    pub diff_base_sha: String,
    /// The branch its changes come from.
    pub source: MergeRequestBranch,
    /// The branch its changes go to.
    pub target: MergeRequestBranch,
    /// The project its changes come from; absent means the pipeline's.
    pub source_project: Option<Project>,
}

/// One of the two branches of a merge request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeRequestBranch {
    /// The branch.
    pub name: String,
    /// The commit it points at.
    pub sha: String,
    /// Whether it is protected.
    pub is_protected: bool,
}

/// What a merge request's pipeline runs for (`CI_MERGE_REQUEST_EVENT_TYPE`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MergeRequestEvent {
    /// The source branch as it is.
    #[default]
    Detached,
    /// The source branch merged into the target branch.
    MergedResult,
    /// The same, with what is to be merged before it.
    MergeTrain,
}

impl fmt::Display for MergeRequestEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Detached => "detached",
            Self::MergedResult => "merged_result",
            Self::MergeTrain => "merge_train",
        })
    }
}

impl MergeRequest {
    /// Returns the first merge request of a project, from the branch `source` to `target`.
    pub fn of_branches(source: impl Into<String>, target: impl Into<String>) -> Self {
        let branch = |name| MergeRequestBranch {
            name,
            ..MergeRequestBranch::default()
        };
        Self {
            id: 1,
            iid: 1,
            source: branch(source.into()),
            target: branch(target.into()),
            ..Self::default()
        }
    }

    /// Returns the full name of what the pipeline runs for.
    pub fn ref_path(&self) -> String {
        let end = match self.event {
            MergeRequestEvent::Detached => "head",
            MergeRequestEvent::MergedResult => "merge",
            MergeRequestEvent::MergeTrain => "train",
        };
        format!("refs/merge-requests/{}/{end}", self.iid)
    }
}
