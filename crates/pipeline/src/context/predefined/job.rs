use super::{Phase, Values};
use crate::context::{JobEnvironment, PipelineContext};
use crate::slug::slug;
use executor_core::job::{JobDefinition, JobId, When};
use executor_core::variable::{JobVariable, JobVariables};
use std::borrow::Cow;

impl PipelineContext {
    /// Returns the predefined variables of a job that will run.
    pub fn job_variables(
        &self,
        job: &JobDefinition,
        id: JobId,
        environment: Option<&JobEnvironment>,
    ) -> JobVariables {
        let mut values = Values::until(Phase::Job);
        let url = format!("{}/-/jobs/{id}", self.project_url());
        values.add(Phase::Job, "CI_JOB_ID", id.to_string());
        values.add(Phase::Job, "CI_JOB_URL", url);
        for name in NAMES {
            values.add_some(Phase::Pipeline, name, job_value(job, name));
        }
        let timeout = self.timeout_of(job).to_string();
        values.add(Phase::Job, "CI_JOB_TIMEOUT", timeout);
        if !self.git.repo_url.is_empty() {
            let url = JobVariable {
                raw: true,
                // The URL may contain a token.
                public: false,
                ..JobVariable::public("CI_REPOSITORY_URL", self.git.repo_url.expose())
            };
            values.push(Phase::Job, url);
        }
        if let Some(image) = &job.image {
            // Unlike the others it may contain references: GitLab uses the text of the file.
            let image = JobVariable::public("CI_JOB_IMAGE", image.name.clone());
            values.push(Phase::Pipeline, image);
        }
        if let Some(environment) = environment {
            environment.add(&mut values);
        }
        values.into_variables(&self.unset)
    }

    /// Returns the timeout of a job, in seconds.
    pub(crate) fn timeout_of(&self, job: &JobDefinition) -> u64 {
        job.timeout_seconds.unwrap_or(self.job_timeout.as_secs())
    }
}

/// The variables derived from a job's definition alone.
const NAMES: [&str; 7] = [
    "CI_JOB_NAME",
    "CI_JOB_NAME_SLUG",
    "CI_JOB_GROUP_NAME",
    "CI_JOB_STAGE",
    "CI_NODE_TOTAL",
    "CI_NODE_INDEX",
    "CI_JOB_MANUAL",
];

/// Returns the value of a variable derived from a job's definition alone, which is visible to
/// `rules` too.
pub fn job_value<'j>(job: &'j JobDefinition, name: &str) -> Option<Cow<'j, str>> {
    let is_manual = matches!(job.when, When::Manual | When::Delayed);
    Some(match name {
        "CI_JOB_NAME" => job.name.as_str().into(),
        "CI_JOB_NAME_SLUG" => slug(&job.name).into(),
        "CI_JOB_GROUP_NAME" => group_name(&job.name).into(),
        "CI_JOB_STAGE" => job.stage.as_str().into(),
        "CI_NODE_TOTAL" => job.parallel_total.unwrap_or(1).to_string().into(),
        "CI_NODE_INDEX" => job.node_index?.to_string().into(),
        "CI_JOB_MANUAL" if is_manual => "true".into(),
        _ => return None,
    })
}

/// Returns a job's name without the suffixes from `parallel`.
pub fn group_name(name: &str) -> &str {
    let mut name = name;
    for _ in 0..3 {
        let shorter = without_values(name).or_else(|| without_count(name));
        name = shorter.unwrap_or(name);
    }
    name
}

/// Strips `: [a, b]` from `build: [a, b]`.
fn without_values(name: &str) -> Option<&str> {
    let (before, _) = name.strip_suffix(']')?.rsplit_once(" [")?;
    Some(before.strip_suffix(':').unwrap_or(before))
}

/// Strips ` 1/2` from `build 1/2`.
fn without_count(name: &str) -> Option<&str> {
    let (before, count) = name.rsplit_once(' ')?;
    let (index, total) = count.split_once('/')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_number(index) && is_number(total)).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_have_no_suffix_from_parallel() {
        let check = |name: &str, expect: &str| assert_eq!(group_name(name), expect);
        check("test 1/2", "test");
        check("build: [a, b]", "build");
        check("build: [a] 1/2", "build");
        check("a/b", "a/b");
        check("v 1/x", "v 1/x");
    }
}
