//! What a pipeline knows besides its file: the commit, the project, who started it.

mod expand;
mod predefined;

pub(crate) use expand::has_references;
pub use expand::{ExpandError, sort_and_expand};
pub(crate) use predefined::{group_name, is_raw};

use executor_core::job::{GitInfo, PipelineId, RefType};
use executor_core::variable::JobVariable;
use jiff::Timestamp;
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
    /// The GitLab the pipeline believes to run on.
    pub server_url: String,
    /// Who started the pipeline.
    pub user: User,
    /// Where job sources come from. Its ref, commit and so on are taken from `commit`.
    pub git: GitInfo,
    /// Pipeline variables (`--variable`); they win over all others.
    pub variables: Vec<JobVariable>,
    /// Secrets (`--secret`) and other variables of the project; they win over the file.
    pub secrets: Vec<JobVariable>,
    /// The id of the first job; others follow.
    pub first_job_id: u64,
    /// The longest a job without `timeout` may take; default one hour, as in GitLab.
    pub job_timeout: Duration,
}

/// The project a pipeline belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: u64,
    /// The id of its namespace.
    pub namespace_id: u64,
    /// Its path with its namespace, for example `group/project`.
    pub path: String,
    /// Its default branch.
    pub default_branch: String,
}

/// The commit a pipeline runs for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub sha: String,
    /// The commit the ref pointed at before; 40 zeros when unknown.
    pub before_sha: String,
    /// The branch or tag.
    pub ref_name: String,
    /// Whether that is a branch or a tag.
    pub ref_type: RefType,
    /// The tag's message.
    pub tag_message: String,
    /// The whole message.
    pub message: String,
    /// The author, as `Name <address>`.
    pub author: String,
    /// When it was committed, in ISO 8601.
    pub timestamp: String,
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

/// The longest a job may take when nothing else is said.
const DEFAULT_JOB_TIMEOUT: Duration = Duration::from_hours(1);

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
            server_url: "https://gitlab.com".to_owned(),
            user: User::default(),
            git: GitInfo::default(),
            variables: Vec::new(),
            secrets: Vec::new(),
            first_job_id: 1,
            job_timeout: DEFAULT_JOB_TIMEOUT,
        }
    }
}

impl Project {
    /// Returns the project's name, the last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path without the name.
    pub fn namespace(&self) -> &str {
        self.path
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace)
    }
}

impl Commit {
    /// Returns the first line of the message.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }

    /// Returns the message without its first line; all of it when that is too long for a title.
    pub fn description(&self) -> &str {
        const LONGEST_TITLE: usize = 100;
        if self.title().chars().count() >= LONGEST_TITLE {
            return &self.message;
        }
        let rest = self.message.split_once('\n').map_or("", |(_, rest)| rest);
        rest.trim_start_matches('\n')
    }

    /// Returns the full name of the branch or tag.
    pub fn ref_path(&self) -> String {
        let kind = match self.ref_type {
            RefType::Branch => "heads",
            RefType::Tag => "tags",
        };
        format!("refs/{kind}/{}", self.ref_name)
    }

    /// Returns the first eight characters of the id.
    pub fn short_sha(&self) -> &str {
        self.sha.get(..8).unwrap_or(&self.sha)
    }
}
