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
    /// Its description.
    pub description: String,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// The login names of its assignees.
    pub assignees: Vec<String>,
    /// Its milestone.
    pub milestone: Option<String>,
    /// Whether it is approved; absent when unknown.
    pub is_approved: Option<bool>,
    /// Whether its commits are squashed.
    pub squashes: bool,
    /// The commit the pipeline runs for.
    pub event: MergeRequestEvent,
    /// The id of the diff version.
    pub diff_id: u64,
    /// The base commit of its diff.
    pub diff_base_sha: String,
    /// The source branch.
    pub source: MergeRequestBranch,
    /// The target branch.
    pub target: MergeRequestBranch,
    /// The source project; absent means the pipeline's.
    pub source_project: Option<Project>,
}

/// One of the two branches of a merge request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeRequestBranch {
    /// The branch.
    pub name: String,
    /// Its commit.
    pub sha: String,
    /// Whether it is protected.
    pub is_protected: bool,
}

/// The kind of a merge request's pipeline (`CI_MERGE_REQUEST_EVENT_TYPE`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MergeRequestEvent {
    /// It runs for the source branch.
    #[default]
    Detached,
    /// It runs for the source branch merged into the target branch.
    MergedResult,
    /// The same, after the merge requests ahead in the merge train.
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

    /// Returns the full name of the ref that the pipeline runs for.
    pub fn ref_path(&self) -> String {
        let end = match self.event {
            MergeRequestEvent::Detached => "head",
            MergeRequestEvent::MergedResult => "merge",
            MergeRequestEvent::MergeTrain => "train",
        };
        format!("refs/merge-requests/{}/{end}", self.iid)
    }
}
