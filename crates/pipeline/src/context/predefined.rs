use super::{Commit, PipelineContext};
use crate::slug::slug;
use executor_core::job::{JobDefinition, JobId, RefType, VariableDefinition, When};
use executor_core::variable::{JobVariable, JobVariables};

/// How many bytes of a commit's message a variable holds.
const LONGEST_MESSAGE: usize = 100_000;

/// The GitLab whose behaviour is followed (`CI_SERVER_VERSION`): scripts that ask for a version get
/// the same answer wherever the pipeline runs.
const SERVER_VERSION: [&str; 3] = ["18", "11", "0"];

/// Names and values of public variables, in the order they are defined.
type Values = Vec<(&'static str, String)>;

impl PipelineContext {
    /// Returns the predefined variables every job of the pipeline sees.
    ///
    /// What only the runner knows (directories, its own name, the job's state) it adds itself.
    pub fn pipeline_variables(&self) -> JobVariables {
        let mut values: Values = vec![
            ("CI", "true".to_owned()),
            ("GITLAB_CI", "true".to_owned()),
            ("GITLAB_FEATURES", String::new()),
        ];
        self.push_server(&mut values);
        self.push_project(&mut values);
        self.push_commit(&mut values);
        self.push_pipeline(&mut values);
        self.push_user(&mut values);
        let public = |(name, value)| JobVariable {
            // A commit message is data: `$HOME` in it is no reference.
            raw: true,
            ..JobVariable::public(name, value)
        };
        values.into_iter().map(public).collect()
    }

    /// Returns the predefined variables of one job.
    pub fn job_variables(&self, job: &JobDefinition, id: JobId) -> JobVariables {
        let url = format!("{}/-/jobs/{id}", self.project_url());
        let mut values: Values = vec![
            ("CI_JOB_ID", id.to_string()),
            ("CI_JOB_URL", url),
            ("CI_JOB_NAME", job.name.clone()),
            ("CI_JOB_NAME_SLUG", slug(&job.name)),
            ("CI_JOB_GROUP_NAME", group_name(&job.name).to_owned()),
            ("CI_JOB_STAGE", job.stage.clone()),
            ("CI_NODE_TOTAL", job.parallel_total.unwrap_or(1).to_string()),
            ("CI_JOB_TIMEOUT", self.timeout_of(job).to_string()),
        ];
        if let Some(index) = job.node_index {
            values.push(("CI_NODE_INDEX", index.to_string()));
        }
        if matches!(job.when, When::Manual | When::Delayed) {
            values.push(("CI_JOB_MANUAL", "true".to_owned()));
        }
        let public = |(name, value)| JobVariable {
            raw: true,
            ..JobVariable::public(name, value)
        };
        let mut variables: JobVariables = values.into_iter().map(public).collect();
        if !self.git.repo_url.is_empty() {
            variables.push(JobVariable {
                raw: true,
                // The address may hold a token.
                public: false,
                ..JobVariable::public("CI_REPOSITORY_URL", self.git.repo_url.expose())
            });
        }
        if let Some(image) = &job.image {
            variables.push(JobVariable::public("CI_JOB_IMAGE", image.name.clone()));
        }
        variables
    }

    /// Returns the variables a job has besides the predefined ones, lowest precedence first: those of
    /// the file, secrets, pipeline variables. References among them are not replaced yet.
    ///
    /// `is_raw` says which of the file are taken literally.
    pub(crate) fn given_variables(
        &self,
        job: &JobDefinition,
        is_raw: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = JobVariable> {
        let of_file = job.variables.iter().map(move |(name, value)| JobVariable {
            raw: is_raw(name),
            ..JobVariable::public(name, value)
        });
        of_file
            .chain(self.secrets.iter().cloned())
            .chain(self.variables.iter().cloned())
    }

    /// Returns how long a job may take, in seconds.
    pub(crate) fn timeout_of(&self, job: &JobDefinition) -> u64 {
        job.timeout_seconds.unwrap_or(self.job_timeout.as_secs())
    }

    /// Names the pipeline's file on its server; two slashes part the project from the path in it.
    fn config_ref_uri(&self) -> String {
        let url = self.project_url();
        let place = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let ref_path = self.commit.ref_path();
        format!("{place}//{}@{ref_path}", self.config_path)
    }

    fn project_url(&self) -> String {
        let server = self.server_url.trim_end_matches('/');
        format!("{server}/{}", self.project.path)
    }

    fn push_server(&self, values: &mut Values) {
        let url = self.server_url.trim_end_matches('/');
        let (protocol, rest) = url.split_once("://").unwrap_or(("https", url));
        let fqdn = rest.split('/').next().unwrap_or_default();
        let (host, port) = match fqdn.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ if protocol == "http" => (fqdn, "80"),
            _ => (fqdn, "443"),
        };
        values.extend([
            ("CI_SERVER_NAME", "GitLab".to_owned()),
            ("CI_SERVER_URL", url.to_owned()),
            ("CI_SERVER_PROTOCOL", protocol.to_owned()),
            ("CI_SERVER_FQDN", fqdn.to_owned()),
            ("CI_SERVER_HOST", host.to_owned()),
            ("CI_SERVER_PORT", port.to_owned()),
            ("CI_SERVER_SHELL_SSH_HOST", host.to_owned()),
            ("CI_SERVER_SHELL_SSH_PORT", "22".to_owned()),
            ("CI_SERVER_VERSION", SERVER_VERSION.join(".")),
            ("CI_SERVER_VERSION_MAJOR", SERVER_VERSION[0].to_owned()),
            ("CI_SERVER_VERSION_MINOR", SERVER_VERSION[1].to_owned()),
            ("CI_SERVER_VERSION_PATCH", SERVER_VERSION[2].to_owned()),
            ("CI_API_V4_URL", format!("{url}/api/v4")),
            ("CI_API_GRAPHQL_URL", format!("{url}/api/graphql")),
            (
                "CI_TEMPLATE_REGISTRY_HOST",
                "registry.gitlab.com".to_owned(),
            ),
        ]);
    }

    fn push_project(&self, values: &mut Values) {
        let project = &self.project;
        let namespace = project.namespace();
        let root = namespace.split('/').next().unwrap_or_default();
        values.extend([
            ("CI_PROJECT_ID", project.id.to_string()),
            ("CI_PROJECT_NAME", project.name().to_owned()),
            ("CI_PROJECT_TITLE", project.name().to_owned()),
            ("CI_PROJECT_PATH", project.path.clone()),
            ("CI_PROJECT_PATH_SLUG", slug(&project.path)),
            ("CI_PROJECT_NAMESPACE", namespace.to_owned()),
            ("CI_PROJECT_NAMESPACE_SLUG", slug(namespace)),
            ("CI_PROJECT_NAMESPACE_ID", project.namespace_id.to_string()),
            ("CI_PROJECT_ROOT_NAMESPACE", root.to_owned()),
            ("CI_PROJECT_URL", self.project_url()),
            ("CI_PROJECT_VISIBILITY", "private".to_owned()),
            ("CI_PROJECT_DESCRIPTION", String::new()),
            ("CI_PROJECT_CLASSIFICATION_LABEL", String::new()),
            ("CI_PROJECT_REPOSITORY_LANGUAGES", String::new()),
            ("CI_PROJECT_TOPICS", String::new()),
            ("CI_CONFIG_PATH", self.config_path.clone()),
            ("CI_CONFIG_REF_URI", self.config_ref_uri()),
            ("CI_DEFAULT_BRANCH", project.default_branch.clone()),
        ]);
    }

    fn push_commit(&self, values: &mut Values) {
        let commit = &self.commit;
        let message = cut(&commit.message, LONGEST_MESSAGE);
        values.extend([
            ("CI_COMMIT_SHA", commit.sha.clone()),
            ("CI_COMMIT_SHORT_SHA", commit.short_sha().to_owned()),
            ("CI_COMMIT_BEFORE_SHA", commit.before_sha.clone()),
            ("CI_COMMIT_REF_NAME", commit.ref_name.clone()),
            ("CI_COMMIT_REF_SLUG", slug(&commit.ref_name)),
            ("CI_COMMIT_REF_PROTECTED", "false".to_owned()),
            ("CI_COMMIT_MESSAGE", message.to_owned()),
            (
                "CI_COMMIT_MESSAGE_IS_TRUNCATED",
                (message.len() < commit.message.len()).to_string(),
            ),
            ("CI_COMMIT_TITLE", commit.title().to_owned()),
            (
                "CI_COMMIT_DESCRIPTION",
                cut(commit.description(), LONGEST_MESSAGE).to_owned(),
            ),
            ("CI_COMMIT_AUTHOR", commit.author.clone()),
            ("CI_COMMIT_TIMESTAMP", commit.timestamp.clone()),
        ]);
        values.extend(ref_values(commit));
    }

    fn push_pipeline(&self, values: &mut Values) {
        let url = format!("{}/-/pipelines/{}", self.project_url(), self.id);
        values.extend([
            ("CI_PIPELINE_ID", self.id.to_string()),
            ("CI_PIPELINE_IID", self.iid.to_string()),
            ("CI_PIPELINE_URL", url),
            ("CI_PIPELINE_SOURCE", self.source.clone()),
            ("CI_PIPELINE_CREATED_AT", format!("{:.0}", self.created_at)),
        ]);
    }

    fn push_user(&self, values: &mut Values) {
        values.extend([
            ("GITLAB_USER_ID", self.user.id.to_string()),
            ("GITLAB_USER_LOGIN", self.user.login.clone()),
            ("GITLAB_USER_NAME", self.user.name.clone()),
            ("GITLAB_USER_EMAIL", self.user.email.clone()),
        ]);
    }
}

/// The variables that exist for a branch or for a tag only.
fn ref_values(commit: &Commit) -> Values {
    match commit.ref_type {
        RefType::Branch => vec![("CI_COMMIT_BRANCH", commit.ref_name.clone())],
        RefType::Tag => vec![
            ("CI_COMMIT_TAG", commit.ref_name.clone()),
            ("CI_COMMIT_TAG_MESSAGE", commit.tag_message.clone()),
        ],
    }
}

/// Returns a job's name without the endings that `parallel` gave it.
pub(crate) fn group_name(name: &str) -> &str {
    let mut name = name;
    for _ in 0..3 {
        let shorter = without_values(name).or_else(|| without_count(name));
        name = shorter.unwrap_or(name);
    }
    name
}

/// `build: [a, b]` without `: [a, b]`.
fn without_values(name: &str) -> Option<&str> {
    let (before, _) = name.strip_suffix(']')?.rsplit_once(" [")?;
    Some(before.strip_suffix(':').unwrap_or(before))
}

/// `build 1/2` without ` 1/2`.
fn without_count(name: &str) -> Option<&str> {
    let (before, count) = name.rsplit_once(' ')?;
    let (index, total) = count.split_once('/')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(index) && is_number(total)).then_some(before)
}

fn cut(text: &str, longest: usize) -> &str {
    &text[..text.floor_char_boundary(longest)]
}

/// Returns whether the variable `name` of a job is left as it is (`expand: false`).
pub(crate) fn is_raw(job: &JobDefinition, global: &crate::config::Variables, name: &str) -> bool {
    let own = job.job_variables.as_ref().and_then(|own| own.get(name));
    own.or_else(|| global.get(name))
        .is_some_and(VariableDefinition::is_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Project;
    use executor_core::job::Image;

    fn context() -> PipelineContext {
        PipelineContext {
            project: Project {
                id: 7,
                namespace_id: 5,
                path: "Group/Sub/app".to_owned(),
                default_branch: "main".to_owned(),
            },
            commit: Commit {
                sha: "0123456789abcdef".to_owned(),
                ref_name: "Feature/X".to_owned(),
                message: "Title $HOME\n\nBody\n".to_owned(),
                ..Commit::default()
            },
            server_url: "http://git.example:8080".to_owned(),
            ..PipelineContext::default()
        }
    }

    fn check(variables: &JobVariables, name: &str, expect: Option<&str>) {
        assert_eq!(variables.get(name), expect, "of {name}");
    }

    #[test]
    fn pipelines_describe_server_project_and_commit() {
        let variables = context().pipeline_variables();
        check(&variables, "CI", Some("true"));
        check(&variables, "CI_SERVER_HOST", Some("git.example"));
        check(&variables, "CI_SERVER_PORT", Some("8080"));
        check(&variables, "CI_PROJECT_NAME", Some("app"));
        check(&variables, "CI_PROJECT_NAMESPACE", Some("Group/Sub"));
        check(&variables, "CI_PROJECT_ROOT_NAMESPACE", Some("Group"));
        check(&variables, "CI_COMMIT_SHORT_SHA", Some("01234567"));
        check(&variables, "CI_COMMIT_REF_SLUG", Some("feature-x"));
        check(&variables, "CI_COMMIT_BRANCH", Some("Feature/X"));
        check(&variables, "CI_COMMIT_TAG", None);
        check(&variables, "CI_COMMIT_TITLE", Some("Title $HOME"));
        check(&variables, "CI_COMMIT_DESCRIPTION", Some("Body\n"));
        assert_eq!(
            variables.expanded().get("CI_COMMIT_TITLE"),
            Some("Title $HOME")
        );
    }

    #[test]
    fn pipelines_describe_what_scripts_ask_the_server_for() {
        let mut context = context();
        context.server_url.push('/');
        context.created_at = "2026-01-02T03:04:05.987Z".parse().unwrap();
        let variables = context.pipeline_variables();
        check(&variables, "CI_SERVER_VERSION", Some("18.11.0"));
        check(&variables, "CI_SERVER_VERSION_MAJOR", Some("18"));
        check(&variables, "CI_SERVER_SHELL_SSH_HOST", Some("git.example"));
        check(&variables, "CI_SERVER_SHELL_SSH_PORT", Some("22"));
        check(&variables, "CI_PROJECT_NAMESPACE_ID", Some("5"));
        let url = "http://git.example:8080/Group/Sub/app";
        check(&variables, "CI_PROJECT_URL", Some(url));
        let uri = "git.example:8080/Group/Sub/app//.gitlab-ci.yml@refs/heads/Feature/X";
        check(&variables, "CI_CONFIG_REF_URI", Some(uri));
        check(&variables, "CI_COMMIT_MESSAGE_IS_TRUNCATED", Some("false"));
        let created = Some("2026-01-02T03:04:05Z");
        check(&variables, "CI_PIPELINE_CREATED_AT", created);
        check(&variables, "CI_REGISTRY", None);

        context.commit.message = "é".repeat(LONGEST_MESSAGE);
        context.commit.ref_type = RefType::Tag;
        let variables = context.pipeline_variables();
        check(&variables, "CI_COMMIT_MESSAGE_IS_TRUNCATED", Some("true"));
        let uri = variables.get("CI_CONFIG_REF_URI").unwrap();
        assert!(uri.ends_with("@refs/tags/Feature/X"), "{uri}");
    }

    #[test]
    fn a_job_has_an_image_and_a_repository_only_when_there_is_one() {
        let mut context = context();
        let mut job = JobDefinition::default();
        let variables = context.job_variables(&job, JobId(3));
        check(&variables, "CI_JOB_IMAGE", None);
        check(&variables, "CI_REPOSITORY_URL", None);

        context.git.repo_url = "https://u:t0ken@git.example/g/a$b.git".into();
        job.image = Some(Box::new(Image::named("alpine")));
        let variables = context.job_variables(&job, JobId(3));
        check(&variables, "CI_JOB_IMAGE", Some("alpine"));
        let url = Some("https://u:t0ken@git.example/g/a$b.git");
        check(&variables, "CI_REPOSITORY_URL", url);
        assert!(!format!("{variables:?}").contains("t0ken"));
    }

    #[test]
    fn a_tag_has_no_branch() {
        let mut context = context();
        context.commit.ref_type = RefType::Tag;
        let variables = context.pipeline_variables();
        check(&variables, "CI_COMMIT_BRANCH", None);
        check(&variables, "CI_COMMIT_TAG", Some("Feature/X"));
    }

    #[test]
    fn pipeline_variables_win_over_secrets_over_the_file_over_predefined_ones() {
        let names = ["CI_JOB_STAGE", "A", "B"];
        let mut job = JobDefinition {
            stage: "build".to_owned(),
            ..JobDefinition::default()
        };
        job.variables = names
            .map(|name| (name.to_owned(), "file".to_owned()))
            .into();
        let mut context = context();
        context.secrets = vec![
            JobVariable::masked("A", "secret"),
            JobVariable::masked("B", "s"),
        ];
        context.variables = vec![JobVariable::public("B", "given")];
        let mut variables = context.job_variables(&job, JobId(3));
        variables.extend(context.given_variables(&job, |_| false));
        check(&variables, "CI_JOB_ID", Some("3"));
        check(&variables, "CI_JOB_STAGE", Some("file"));
        check(&variables, "A", Some("secret"));
        check(&variables, "B", Some("given"));
    }

    #[test]
    fn group_names_lose_what_parallel_added() {
        let check = |name: &str, expect: &str| assert_eq!(group_name(name), expect);
        check("test 1/2", "test");
        check("build: [a, b]", "build");
        check("build: [a] 1/2", "build");
        check("a/b", "a/b");
        check("v 1/x", "v 1/x");
    }
}
