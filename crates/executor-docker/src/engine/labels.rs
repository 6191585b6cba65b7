//! The labels that tell the owner of a container, a network or a volume.

use executor_core::job::Job;
use std::collections::{BTreeMap, HashMap};

/// The prefix of our labels.
pub const PREFIX: &str = "dev.runwright.";

/// The label of every object of ours, with the value `true`.
pub const MANAGED: &str = "dev.runwright.managed";

/// The label with the id of the run that created the object; a living run holds the lock file of its id.
pub const OWNER: &str = "dev.runwright.owner";

/// The label with the job's id.
pub const JOB_ID: &str = "dev.runwright.job.id";

/// The label with the job's attempt, from 0.
pub const ATTEMPT: &str = "dev.runwright.job.attempt";

/// The label with the purpose; see [`Role`].
pub const ROLE: &str = "dev.runwright.role";

/// The label of objects that outlive their job, with the value `true`.
pub const KEEP: &str = "dev.runwright.keep";

/// The label of warm containers, with the value `true`.
pub const WARM: &str = "dev.runwright.warm";

/// The prefix of GitLab Runner's labels, which tools for cleanup and measurement read.
pub const GITLAB_PREFIX: &str = "com.gitlab.gitlab-runner.";

/// The purpose of an object in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The job's container.
    Build,
    /// The helper container.
    Helper,
    /// The container of a service.
    Service,
    /// The job's network.
    Network,
    /// A volume.
    Volume,
}

impl Role {
    /// Returns the label's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Helper => "helper",
            Self::Service => "service",
            Self::Network => "network",
            Self::Volume => "volume",
        }
    }

    /// Returns GitLab Runner's name of the role.
    const fn as_gitlab(self) -> &'static str {
        match self {
            Self::Helper => "predefined",
            Self::Volume => "cache",
            _ => self.as_str(),
        }
    }
}

/// The labels of the objects of one attempt of a job.
///
/// They hold no secret: of the job's variables only public ones are used.
///
/// # Examples
///
/// ```
/// use executor_core::job::Job;
/// use executor_docker::engine::labels::{Labels, OWNER, ROLE, Role};
///
/// let labels = Labels::of(&Job::default(), "3f9c", 0).for_role(Role::Network);
/// assert_eq!(labels[OWNER], "3f9c");
/// assert_eq!(labels[ROLE], "network");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    common: BTreeMap<String, String>,
    /// `container_labels` of the runner's settings.
    containers: BTreeMap<String, String>,
}

impl Labels {
    /// Returns the labels of attempt `attempt` of `job`, which the run `owner` runs.
    pub fn of(job: &Job, owner: &str, attempt: u32) -> Self {
        let info = &job.job_info;
        let public = |name: &str| {
            let mut variables = job.variables.iter().rev();
            let variable = variables.find(|variable| variable.key == name);
            variable
                .filter(|variable| variable.public && !variable.masked && !variable.file)
                .map(|variable| variable.value.clone())
        };
        let text = |text: &str| Some(text.to_owned());
        let ours = [
            (MANAGED, text("true")),
            (OWNER, text(owner)),
            (JOB_ID, Some(job.id.to_string())),
            (ATTEMPT, Some(attempt.to_string())),
            ("dev.runwright.job.name", text(&info.name)),
            (
                "dev.runwright.pipeline.id",
                Some(info.pipeline_id.to_string()),
            ),
            ("dev.runwright.project", text(&info.project_full_path)),
        ];
        let gitlab = [
            ("managed", text("true")),
            ("job.id", Some(job.id.to_string())),
            ("job.url", public("CI_JOB_URL")),
            ("job.sha", text(&job.git_info.sha)),
            ("job.before_sha", text(&job.git_info.before_sha)),
            ("job.ref", text(&job.git_info.ref_name)),
            ("job.timeout", Some(format!("{}s", job.runner_info.timeout))),
            ("project.id", Some(info.project_id.to_string())),
            ("pipeline.id", Some(info.pipeline_id.to_string())),
            ("runner.id", public("CI_RUNNER_ID")),
        ];
        let ours = ours.map(|(key, value)| (key.to_owned(), value));
        let gitlab = gitlab.map(|(key, value)| (format!("{GITLAB_PREFIX}{key}"), value));
        let common = ours.into_iter().chain(gitlab);
        Self {
            common: common
                .filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?)))
                .collect(),
            containers: BTreeMap::new(),
        }
    }

    /// Returns the labels of warm containers of the run `owner`.
    ///
    /// Labels cannot be changed later: only the name tells which job took the container, see [`Names`](crate::engine::names::Names)
    pub fn without_job(owner: &str) -> Self {
        let common = [
            (MANAGED.to_owned(), "true".to_owned()),
            (OWNER.to_owned(), owner.to_owned()),
            (WARM.to_owned(), "true".to_owned()),
            (format!("{GITLAB_PREFIX}managed"), "true".to_owned()),
        ];
        Self {
            common: common.into(),
            containers: BTreeMap::new(),
        }
    }

    /// Adds `container_labels` of the runner's settings, for containers alone, as GitLab Runner does.
    ///
    /// Labels with our [`PREFIX`] are ignored: the sweep relies on ours.
    #[must_use]
    pub fn with_container_labels<'a>(
        mut self,
        labels: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Self {
        for (key, value) in labels {
            if !key.starts_with(PREFIX) {
                self.containers.insert(key.clone(), value.clone());
            }
        }
        self
    }

    /// Returns the labels of an object with the role `role`.
    pub fn for_role(&self, role: Role) -> HashMap<String, String> {
        let mut labels: HashMap<_, _> = self.common.clone().into_iter().collect();
        labels.insert(ROLE.to_owned(), role.as_str().to_owned());
        labels.insert(format!("{GITLAB_PREFIX}type"), role.as_gitlab().to_owned());
        if matches!(role, Role::Build | Role::Helper | Role::Service) {
            labels.extend(self.containers.clone());
        }
        labels
    }

    /// Returns the labels of a service container from the image `image` with the tag or digest `version`.
    pub fn for_service(&self, image: &str, version: &str) -> HashMap<String, String> {
        let mut labels = self.for_role(Role::Service);
        labels.insert(format!("{GITLAB_PREFIX}service"), image.to_owned());
        labels.insert(
            format!("{GITLAB_PREFIX}service.version"),
            version.to_owned(),
        );
        labels
    }

    /// Returns the labels of an object with the role `role` that outlives the job, such as a cache volume: the sweep
    /// keeps it.
    pub fn for_kept(&self, role: Role) -> HashMap<String, String> {
        let mut labels = self.for_role(role);
        labels.insert(KEEP.to_owned(), "true".to_owned());
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{JobId, JobInfo, PipelineId};
    use executor_core::variable::JobVariable;

    fn job() -> Job {
        Job {
            id: JobId(7),
            job_info: JobInfo {
                name: "test: [ä, \"x\"]".into(),
                pipeline_id: PipelineId(70),
                project_id: 12,
                project_full_path: "group/app".into(),
                ..JobInfo::default()
            },
            variables: vec![
                JobVariable::public("CI_JOB_URL", "https://gitlab.example/group/app/-/jobs/7"),
                JobVariable::masked("CI_RUNNER_ID", "a secret"),
                JobVariable::masked("TOKEN", "a secret"),
            ],
            token: "a secret".into(),
            ..Job::default()
        }
    }

    #[test]
    fn labels_name_the_owner_and_hold_no_secret() {
        let labels = Labels::of(&job(), "run-1", 2).for_role(Role::Helper);
        let check = |key: &str, expect: Option<&str>| {
            assert_eq!(labels.get(key).map(String::as_str), expect, "{key}");
        };
        check(MANAGED, Some("true"));
        check(OWNER, Some("run-1"));
        check(JOB_ID, Some("7"));
        check(ATTEMPT, Some("2"));
        check("dev.runwright.job.name", Some("test: [ä, \"x\"]"));
        check("dev.runwright.pipeline.id", Some("70"));
        check("dev.runwright.project", Some("group/app"));
        check(ROLE, Some("helper"));
        check(KEEP, None);
        check("com.gitlab.gitlab-runner.type", Some("predefined"));
        check("com.gitlab.gitlab-runner.project.id", Some("12"));
        check(
            "com.gitlab.gitlab-runner.job.url",
            Some("https://gitlab.example/group/app/-/jobs/7"),
        );
        check("com.gitlab.gitlab-runner.runner.id", None);
        assert!(!format!("{labels:?}").contains("a secret"));
    }

    #[test]
    fn container_labels_do_not_replace_ours() {
        let own = BTreeMap::from([
            ("team".to_owned(), "blue".to_owned()),
            (OWNER.to_owned(), "another owner".to_owned()),
        ]);
        let labels = Labels::of(&job(), "run-1", 0).with_container_labels(&own);
        let service = labels.for_service("postgres", "16");
        assert_eq!(service["team"], "blue");
        assert_eq!(service[OWNER], "run-1");
        assert_eq!(service["com.gitlab.gitlab-runner.service"], "postgres");
        assert_eq!(service["com.gitlab.gitlab-runner.service.version"], "16");
        assert!(!labels.for_role(Role::Network).contains_key("team"));
        assert_eq!(labels.for_kept(Role::Volume)[KEEP], "true");
    }
}
