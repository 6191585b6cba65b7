use super::{
    Chat, Commit, ExternalPullRequest, GivenVariable, MergeRequest, Project, Relative, Trigger,
    Upstream,
};
use executor_core::job::{GitInfo, PipelineId, RefType};
use jiff::Timestamp;
use std::fmt;
use std::time::Duration;

/// Everything outside the pipeline file that its jobs can see, as plain data.
///
/// The caller finds it out; nothing here looks at a repository, the clock or the environment.
#[derive(Debug, Clone)]
pub struct PipelineContext {
    /// The pipeline's id.
    pub id: PipelineId,
    /// The pipeline's number within its project.
    pub iid: u64,
    /// What started the pipeline, in GitLab's words; default `push`.
    pub source: String,
    /// When the pipeline was created.
    pub created_at: Timestamp,
    /// Where the pipeline file is, relative to the project.
    pub config_path: String,
    /// The project.
    pub project: Project,
    /// The commit.
    pub commit: Commit,
    /// The merge request it runs for. Its commit and branch are in `commit` all the same.
    pub merge_request: Option<MergeRequest>,
    /// The pull request on another server it runs for.
    pub external_pull_request: Option<ExternalPullRequest>,
    /// What the schedule that started it is for.
    pub schedule_description: Option<String>,
    /// The call that started it.
    pub trigger: Option<Trigger>,
    /// The job that started it.
    pub upstream: Option<Upstream>,
    /// The pipelines above it, if it is a child pipeline.
    pub relatives: Vec<Relative>,
    /// The chat command that started it.
    pub chat: Option<Chat>,
    /// Whether a Kubernetes cluster belongs to the project (`only: {kubernetes: active}`).
    pub kubernetes_active: bool,
    /// Whether nothing is to be deployed now.
    pub deploy_freeze: bool,
    /// The GitLab the pipeline believes to run on.
    pub server_url: String,
    /// The server's container registry; absent means `registry.` before the server's host.
    pub registry: Option<String>,
    /// Where the server shows pages; absent means `pages.` before the server's host.
    pub pages_domain: Option<String>,
    /// Who started the pipeline.
    pub user: User,
    /// Where job sources come from. Its ref, commit and so on are taken from `commit`.
    pub git: GitInfo,
    /// The variables from outside the file, in any order of their levels; within a level, later
    /// ones win.
    pub given: Vec<GivenVariable>,
    /// How many jobs one job may need; default 50, as in GitLab.
    pub most_needs: usize,
    /// The id of the first job; others follow.
    pub first_job_id: u64,
    /// The longest a job without `timeout` may take; default one hour, as in GitLab.
    pub job_timeout: Duration,
}

/// Who started a pipeline.
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

/// What a pipeline runs for.
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

/// What starts the pipeline of a merge request.
const MERGE_REQUEST_SOURCE: &str = "merge_request_event";

/// The sources of pipelines that a person or another system asked for, whatever the commit says.
const ASKED_FOR: [&str; 7] = [
    "api",
    MERGE_REQUEST_SOURCE,
    "parent_pipeline",
    "pipeline",
    "schedule",
    "trigger",
    "web",
];

/// The longest a job may take when nothing else is said.
const DEFAULT_JOB_TIMEOUT: Duration = Duration::from_hours(1);

/// How many jobs one job may need when nothing else is said.
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
            relatives: Vec::new(),
            chat: None,
            kubernetes_active: false,
            deploy_freeze: false,
            server_url: "https://gitlab.com".to_owned(),
            registry: None,
            pages_domain: None,
            user: User::default(),
            git: GitInfo::default(),
            given: Vec::new(),
            most_needs: MOST_NEEDS,
            first_job_id: 1,
            job_timeout: DEFAULT_JOB_TIMEOUT,
        }
    }
}

impl PipelineContext {
    /// Returns what the pipeline runs for. A merge request of which nothing is known but that it is
    /// one counts too.
    pub fn ref_kind(&self) -> RefKind {
        if self.merge_request.is_some() || self.source == MERGE_REQUEST_SOURCE {
            return RefKind::MergeRequest;
        }
        match self.commit.ref_type {
            RefType::Branch => RefKind::Branch,
            RefType::Tag => RefKind::Tag,
        }
    }

    /// Returns whether the commit's message asks for a pipeline of which no job runs (`[ci skip]`),
    /// and nobody asked for the pipeline itself.
    pub fn is_skipped(&self) -> bool {
        let is_asked_for = ASKED_FOR.contains(&self.source.as_str());
        !is_asked_for && self.ref_kind() != RefKind::MergeRequest && self.commit.skips_ci()
    }

    /// Returns the full name of what the pipeline runs for.
    pub fn ref_path(&self) -> String {
        let merge_request = self.merge_request.as_ref();
        merge_request.map_or_else(|| self.commit.ref_path(), MergeRequest::ref_path)
    }

    /// Returns the address of the project.
    pub fn project_url(&self) -> String {
        self.url_of(&self.project)
    }

    /// Returns the address of a project of the same server.
    pub(super) fn url_of(&self, project: &Project) -> String {
        let server = self.server_url.trim_end_matches('/');
        format!("{server}/{}", project.path)
    }
}
