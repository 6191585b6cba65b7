use super::{
    AncestorPipeline, Chat, Commit, ExternalPullRequest, ExternalVariable, MergeRequest, Project,
    Trigger, Upstream,
};
use executor_core::job::{GitInfo, PipelineId, RefType};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// All data from outside the pipeline file that its jobs can see.
///
/// The caller provides it; nothing here reads a repository, the clock or the process environment.
#[derive(Debug, Clone)]
pub struct PipelineContext {
    /// The pipeline's id.
    pub id: PipelineId,
    /// The pipeline's number within its project.
    pub iid: u64,
    /// GitLab's name of the event that started the pipeline; default `push`.
    pub source: String,
    /// The creation time of the pipeline.
    pub created_at: Timestamp,
    /// The path of the pipeline file, relative to the project.
    pub config_path: String,
    /// The project.
    pub project: Project,
    /// The commit.
    pub commit: Commit,
    /// The merge request it runs for; `commit` has its commit and branch as well.
    pub merge_request: Option<MergeRequest>,
    /// The pull request on another server it runs for.
    pub external_pull_request: Option<ExternalPullRequest>,
    /// The description of the schedule that started it.
    pub schedule_description: Option<String>,
    /// The trigger call that started it.
    pub trigger: Option<Trigger>,
    /// The job that started it.
    pub upstream: Option<Upstream>,
    /// Its ancestor pipelines, if it is a child pipeline.
    pub ancestors: Vec<AncestorPipeline>,
    /// The chat command that started it.
    pub chat: Option<Chat>,
    /// Whether the project has a Kubernetes cluster (`only: {kubernetes: active}`).
    pub kubernetes_active: bool,
    /// Whether a deploy freeze is in effect.
    pub deploy_freeze: bool,
    /// The URL of the GitLab that jobs see as their server.
    pub server_url: String,
    /// The server's container registry; absent means the server's host with the prefix `registry.`.
    pub registry: Option<String>,
    /// The domain of the server's pages; absent means the server's host with the prefix `pages.`.
    pub pages_domain: Option<String>,
    /// The user who started the pipeline.
    pub user: User,
    /// The repository of the sources; its ref and commit are taken from `commit`.
    pub git: GitInfo,
    /// The variables from outside the file, levels in any order; within a level, later ones win.
    pub external: Vec<ExternalVariable>,
    /// The names of variables that do not exist, except where the runner or a dotenv report sets them.
    pub unset: BTreeSet<String>,
    /// The maximum number of needs of a job; default 50, as in GitLab.
    pub most_needs: usize,
    /// The id of the first job; the others are consecutive.
    pub first_job_id: u64,
    /// The timeout of jobs without `timeout`; default one hour, as in GitLab.
    pub job_timeout: Duration,
}

/// The user who started a pipeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The user's id.
    pub id: u64,
    /// The login name.
    pub login: String,
    /// The full name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// The kind of ref a pipeline runs for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefKind {
    /// A branch.
    Branch,
    /// A tag.
    Tag,
    /// A merge request.
    MergeRequest,
}

impl fmt::Display for RefKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Branch => "branch",
            Self::Tag => "tag",
            Self::MergeRequest => "merge request",
        })
    }
}

/// The source of the pipeline of a merge request.
const MERGE_REQUEST_SOURCE: &str = "merge_request_event";

/// The sources of explicitly requested pipelines, which `[ci skip]` does not affect.
const EXPLICIT_SOURCES: [&str; 7] = [
    "api",
    MERGE_REQUEST_SOURCE,
    "parent_pipeline",
    "pipeline",
    "schedule",
    "trigger",
    "web",
];

/// The default timeout of jobs.
const DEFAULT_JOB_TIMEOUT: Duration = Duration::from_hours(1);

/// The default maximum number of needs of a job.
const MOST_NEEDS: usize = 50;

impl Default for PipelineContext {
    fn default() -> Self {
        Self {
            id: PipelineId(1),
            iid: 1,
            source: "push".to_owned(),
            created_at: Timestamp::UNIX_EPOCH,
            config_path: ".gitlab-ci.yml".to_owned(),
            project: Project::default(),
            commit: Commit::default(),
            merge_request: None,
            external_pull_request: None,
            schedule_description: None,
            trigger: None,
            upstream: None,
            ancestors: Vec::new(),
            chat: None,
            kubernetes_active: false,
            deploy_freeze: false,
            server_url: "https://gitlab.com".to_owned(),
            registry: None,
            pages_domain: None,
            user: User::default(),
            git: GitInfo::default(),
            external: Vec::new(),
            unset: BTreeSet::new(),
            most_needs: MOST_NEEDS,
            first_job_id: 1,
            job_timeout: DEFAULT_JOB_TIMEOUT,
        }
    }
}

impl PipelineContext {
    /// Returns the kind of ref the pipeline runs for. The source alone can identify a merge
    /// request, without further data about it.
    pub fn ref_kind(&self) -> RefKind {
        if self.merge_request.is_some() || self.source == MERGE_REQUEST_SOURCE {
            return RefKind::MergeRequest;
        }
        match self.commit.ref_type {
            RefType::Branch => RefKind::Branch,
            RefType::Tag => RefKind::Tag,
        }
    }

    /// Returns whether the commit message asks to run no jobs (`[ci skip]`) and the pipeline was
    /// not explicitly requested.
    pub fn is_skipped(&self) -> bool {
        let is_explicit = EXPLICIT_SOURCES.contains(&self.source.as_str());
        !is_explicit && self.ref_kind() != RefKind::MergeRequest && self.commit.skips_ci()
    }

    /// Returns the full name of the ref that the pipeline runs for.
    pub fn ref_path(&self) -> String {
        let merge_request = self.merge_request.as_ref();
        merge_request.map_or_else(|| self.commit.ref_path(), MergeRequest::ref_path)
    }

    /// Returns the URL of the project.
    pub fn project_url(&self) -> String {
        self.url_of(&self.project)
    }

    /// Returns the URL of a project on the same server.
    pub(super) fn url_of(&self, project: &Project) -> String {
        let server = self.server_url.trim_end_matches('/');
        format!("{server}/{}", project.path)
    }
}
