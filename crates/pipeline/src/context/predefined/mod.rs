//! The variables GitLab defines for every pipeline and job, one file for each noun.
//!
//! They become available in three phases: some before the pipeline exists, which `include` can see;
//! some with the pipeline, which `rules` can see too; and the rest only in running jobs.

mod commit;
mod job;
mod merge_request;
mod pipeline;
mod project;
mod registry;
mod server;
mod values;

pub use job::{group_name, job_value};
pub use values::Phase;
pub(super) use values::Values;

use super::{ExternalVariable, PipelineContext};
use executor_core::variable::JobVariables;

impl PipelineContext {
    /// Returns the predefined variables of all jobs of the pipeline, including its ids.
    ///
    /// The runner adds those that only it knows (directories, its own name, the job's state).
    pub fn pipeline_variables(&self) -> JobVariables {
        self.predefined(Phase::Job)
    }

    /// Returns the predefined variables of all jobs that are available in a phase.
    pub fn predefined(&self, phase: Phase) -> JobVariables {
        let mut values = Values::until(phase);
        values.add(Phase::PrePipeline, "CI", "true");
        values.add(Phase::PrePipeline, "GITLAB_CI", "true");
        values.add(Phase::PrePipeline, "GITLAB_FEATURES", "");
        server::add(self, &mut values);
        project::add(self, &mut values);
        registry::add(self, &mut values);
        commit::add(self, &mut values);
        pipeline::add(self, &mut values);
        pipeline::add_trigger(self, &mut values);
        merge_request::add(self, &mut values);
        values.into_variables(&self.unset)
    }

    /// Returns the variables available before the pipeline exists, which `include` and its rules
    /// see.
    ///
    /// Variables limited to an environment are not among them, because no job is known yet.
    pub fn pre_pipeline_variables(&self) -> JobVariables {
        let mut variables = self.predefined(Phase::PrePipeline);
        let given = self.external_for(None).into_iter();
        variables.extend(given.map(|given| given.variable.clone()));
        variables
    }

    /// Returns the outside variables for jobs of an environment, or for jobs without one; lowest
    /// precedence first.
    ///
    /// Within a level, variables the user sets locally override those of a GitLab, and those of an
    /// inner group those of an outer one; otherwise the more specific scope wins.
    pub fn external_for(&self, environment: Option<&str>) -> Vec<&ExternalVariable> {
        let is_open = |given: &&ExternalVariable| {
            let is_open = !given.is_protected || self.commit.is_protected;
            is_open && !self.unset.contains(&given.variable.key)
        };
        let matching = self.external.iter().filter(is_open);
        let matching = matching.filter_map(|given| Some((given.scope_match(environment)?, given)));
        let mut matching: Vec<_> = matching.collect();
        matching.sort_by_key(|(specificity, given)| (given.level, given.nearness(), *specificity));
        matching.into_iter().map(|(_, given)| given).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{
        Commit, ExternalSource, ExternalVariable, JobEnvironment, Level, MergeRequest,
        MergeRequestBranch, Project,
    };
    use executor_core::job::Image;
    use executor_core::job::{EnvironmentDefinition, JobDefinition, JobId, RefType};
    use executor_core::variable::JobVariable;

    fn context() -> PipelineContext {
        PipelineContext {
            project: Project {
                id: 7,
                namespace_id: 5,
                path: "Group/Sub/app".to_owned(),
                default_branch: "main".to_owned(),
                ..Project::default()
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
    fn variables_describe_server_project_and_commit() {
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
    fn variables_describe_server_details_and_truncation() {
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
        check(&variables, "CI_REGISTRY", Some("registry.git.example"));
        let image = Some("registry.git.example/group/sub/app");
        check(&variables, "CI_REGISTRY_IMAGE", image);
        let pages = Some("http://group.pages.git.example/sub/app");
        check(&variables, "CI_PAGES_URL", pages);

        context.commit.message = "é".repeat(commit::LONGEST);
        context.commit.ref_type = RefType::Tag;
        let variables = context.pipeline_variables();
        check(&variables, "CI_COMMIT_MESSAGE_IS_TRUNCATED", Some("true"));
        let uri = variables.get("CI_CONFIG_REF_URI").unwrap();
        assert!(uri.ends_with("@refs/tags/Feature/X"), "{uri}");
    }

    #[test]
    fn image_and_repository_are_set_only_if_present() {
        let mut context = context();
        let mut job = JobDefinition::default();
        let variables = context.job_variables(&job, JobId(3), None);
        check(&variables, "CI_JOB_IMAGE", None);
        check(&variables, "CI_REPOSITORY_URL", None);

        context.git.repo_url = "https://u:t0ken@git.example/g/a$b.git".into();
        job.image = Some(Box::new(Image::named("alpine")));
        let variables = context.job_variables(&job, JobId(3), None);
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
    fn precedence_is_by_level_then_scope() {
        let given = |level: Level, scope: &str, value: &str| ExternalVariable {
            scope: scope.to_owned(),
            ..ExternalVariable::of_option("--x", level, JobVariable::public("A", value))
        };
        let mut context = context();
        context.external = vec![
            given(Level::Project, "review/*", "scoped"),
            given(Level::Project, "*", "project"),
            given(Level::Instance, "*", "instance"),
            given(Level::Group, "review/x", "group"),
        ];
        let check = |environment: Option<&str>, expect: &str| {
            let list = context.external_for(environment);
            let strongest = list.last().map(|given| given.variable.value.as_str());
            assert_eq!(strongest, Some(expect), "in {environment:?}");
        };
        check(None, "project");
        check(Some("review/x"), "scoped");
        check(Some("production"), "project");
    }

    #[test]
    fn local_variables_override_those_of_gitlab_within_a_level() {
        let here = |level: Level, scope: &str, value: &str| ExternalVariable {
            scope: scope.to_owned(),
            ..ExternalVariable::of_option("--x", level, JobVariable::public("A", value))
        };
        let of_server = |level: Level, path: &str, scope: &str| ExternalVariable {
            source: ExternalSource::Server {
                server: "https://git.example".to_owned(),
                path: (!path.is_empty()).then(|| path.to_owned()),
            },
            ..here(level, scope, &format!("{path} {scope}"))
        };
        // From the weakest to the strongest, for a job of `production`.
        let table = [
            of_server(Level::Instance, "", "*"),
            here(Level::Instance, "*", "all projects, here"),
            of_server(Level::Group, "a", "*"),
            of_server(Level::Group, "a", "production"),
            of_server(Level::Group, "a/b", "*"),
            of_server(Level::Group, "a/b", "prod*"),
            here(Level::Group, "*", "group, here"),
            of_server(Level::Project, "a/b/c", "*"),
            of_server(Level::Project, "a/b/c", "production"),
            here(Level::Project, "*", "project, here"),
            here(Level::Project, "production", "project, here and by scope"),
            here(Level::Pipeline, "*", "pipeline"),
        ];
        for (at, strongest) in table.iter().enumerate() {
            let mut context = context();
            // The order of the list has no effect.
            context.external = table[..=at].to_vec();
            context.external.reverse();
            let list = context.external_for(Some("production"));
            let found = list.last().map(|given| &given.variable.value);
            assert_eq!(found, Some(&strongest.variable.value));
        }
    }

    #[test]
    fn protected_variables_are_for_protected_refs() {
        let mut context = context();
        context.external = vec![ExternalVariable {
            is_protected: true,
            ..ExternalVariable::of_secret(JobVariable::masked("KEY", "s"))
        }];
        assert!(context.external_for(None).is_empty());
        context.commit.is_protected = true;
        assert_eq!(context.external_for(None).len(), 1);
        assert_eq!(context.pre_pipeline_variables().get("KEY"), Some("s"));
    }

    #[test]
    fn a_merge_request_pipeline_has_no_branch_variable() {
        let mut context = context();
        context.source = "merge_request_event".to_owned();
        context.merge_request = Some(MergeRequest {
            iid: 7,
            description: "é".repeat(3_000),
            labels: vec!["a".to_owned(), "b".to_owned()],
            source: MergeRequestBranch {
                name: "Feature/X".to_owned(),
                sha: "abc".to_owned(),
                is_protected: false,
            },
            ..MergeRequest::default()
        });
        let variables = context.predefined(Phase::PrePipeline);
        check(&variables, "CI_COMMIT_BRANCH", None);
        check(&variables, "CI_COMMIT_REF_NAME", Some("Feature/X"));
        check(&variables, "CI_MERGE_REQUEST_IID", Some("7"));
        check(&variables, "CI_MERGE_REQUEST_LABELS", Some("a,b"));
        check(&variables, "CI_MERGE_REQUEST_MILESTONE", None);
        check(&variables, "CI_MERGE_REQUEST_EVENT_TYPE", Some("detached"));
        let path = Some("refs/merge-requests/7/head");
        check(&variables, "CI_MERGE_REQUEST_REF_PATH", path);
        check(&variables, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", Some(""));
        let truncated = "CI_MERGE_REQUEST_DESCRIPTION_IS_TRUNCATED";
        check(&variables, truncated, Some("true"));
        let description = variables.get("CI_MERGE_REQUEST_DESCRIPTION").unwrap();
        assert_eq!(description.chars().count(), 2_700);
    }

    #[test]
    fn later_phases_have_more_variables() {
        let context = context();
        let known = |phase, name: &str| context.predefined(phase).get(name).is_some();
        assert!(known(Phase::PrePipeline, "CI_COMMIT_BRANCH"));
        assert!(!known(Phase::PrePipeline, "CI_PIPELINE_IID"));
        assert!(known(Phase::Pipeline, "CI_PIPELINE_IID"));
        assert!(!known(Phase::Pipeline, "CI_PIPELINE_ID"));
        assert!(known(Phase::Job, "CI_PIPELINE_ID"));
    }

    #[test]
    fn variables_describe_the_environment() {
        let definition = EnvironmentDefinition {
            url: Some("https://$CI_ENVIRONMENT_SLUG.x".to_owned()),
            ..EnvironmentDefinition::named("review/$X")
        };
        let environment = Some(JobEnvironment::new(&definition, "review/1".to_owned()));
        let variables =
            context().job_variables(&JobDefinition::default(), JobId(1), environment.as_ref());
        check(&variables, "CI_ENVIRONMENT_NAME", Some("review/1"));
        check(&variables, "CI_ENVIRONMENT_ACTION", Some("start"));
        check(&variables, "CI_ENVIRONMENT_TIER", Some("development"));
        assert!(
            variables
                .get("CI_ENVIRONMENT_SLUG")
                .unwrap()
                .starts_with("review-1-")
        );
        assert!(!variables.variable("CI_ENVIRONMENT_URL").unwrap().raw);
    }
}
