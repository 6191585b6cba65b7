use super::job_texts::{JobTexts, refers_to};
use super::variable_kind::{OF_THE_RUN, VariableKind, kind_of};
use executor_core::RunnerConfig;
use executor_core::job::{Job, When};
use std::fmt;

/// Why a job always runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotReusable {
    /// Its definition is unknown.
    Unknown,
    /// It is a manual job.
    Manual,
    /// It runs because another one failed.
    OnFailure,
    /// A keyword means that it has effects outside.
    Keyword(&'static str),
    /// It names a variable that is new in every run.
    Names(&'static str),
    /// One of its variables names one.
    Refers(String, &'static str),
    /// It may read any variable, and some are new in every run.
    ListsVariables,
    /// Its image may have changed.
    Image,
    /// Its files are unknown before it runs.
    Sources,
    /// It uses git with repositories whose refs are unknown.
    History,
    /// Its inputs cannot be read.
    Unreadable(String),
}

impl NotReusable {
    /// Returns the reason in the job itself, if any.
    pub(super) fn of(job: &Job, config: &RunnerConfig, texts: &JobTexts) -> Option<Self> {
        let Some(definition) = job.definition.as_deref() else {
            return Some(Self::Unknown);
        };
        let keywords = [
            ("environment", definition.environment.is_some()),
            ("release", definition.release.is_some()),
            ("trigger", definition.trigger.is_some()),
            ("resource_group", definition.resource_group.is_some()),
            ("id_tokens", definition.id_tokens.is_some()),
            ("identity", definition.identity.is_some()),
            (
                "secrets",
                definition.secrets.is_some() || !job.secrets.is_empty(),
            ),
            ("run", definition.run.is_some() || !job.run.is_empty()),
        ];
        if let Some((keyword, _)) = keywords.into_iter().find(|(_, is_there)| *is_there) {
            return Some(Self::Keyword(keyword));
        }
        match definition.when {
            When::Manual => return Some(Self::Manual),
            When::OnFailure => return Some(Self::OnFailure),
            When::OnSuccess | When::Always | When::Delayed | When::Never => {}
        }
        if !has_known_images(job, &config.executor) {
            return Some(Self::Image);
        }
        if texts.list_variables() {
            return Some(Self::ListsVariables);
        }
        if let Some(name) = OF_THE_RUN.into_iter().find(|name| texts.name(name)) {
            return Some(Self::Names(name));
        }
        let inputs = config.environment.iter().chain(&job.variables);
        let mut inputs = inputs.filter(|it| !it.raw && kind_of(&it.key) == VariableKind::Input);
        inputs.find_map(|variable| {
            let mut names = OF_THE_RUN.into_iter();
            let name = names.find(|name| refers_to(&variable.value, name))?;
            Some(Self::Refers(variable.key.clone(), name))
        })
    }
}

/// The executor of jobs on this host.
pub(super) const ON_HOST: &str = "shell";

/// The executor that runs jobs without an image on this host.
const BY_IMAGE: &str = "auto";

/// Returns whether a job runs on this host.
pub(super) fn runs_on_host(job: &Job, executor: &str) -> bool {
    executor == ON_HOST || (executor == BY_IMAGE && job.image.name.is_empty())
}

/// Returns whether the programs of a job stay the same: those of this host, or of images named by digest.
fn has_known_images(job: &Job, executor: &str) -> bool {
    let is_known = |name: &str| name.contains("@sha256:");
    runs_on_host(job, executor)
        || (is_known(&job.image.name) && job.services.iter().all(|it| is_known(&it.name)))
}

impl fmt::Display for NotReusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("its definition is unknown"),
            Self::Manual => f.write_str("it is started by hand"),
            Self::OnFailure => f.write_str("it runs because another one failed"),
            Self::Keyword(keyword) => write!(f, "it has `{keyword}`"),
            Self::Names(name) => write!(f, "it names {name}, which is new in every run"),
            Self::Refers(variable, name) => {
                write!(
                    f,
                    "its variable {variable} names {name}, which is new in every run"
                )
            }
            Self::ListsVariables => {
                f.write_str("it may read any variable, and some are new in every run")
            }
            Self::Image => f.write_str("its image is not named by a digest"),
            Self::Sources => f.write_str("its files are unknown before it runs"),
            Self::History => f.write_str("it uses git, and the refs cannot be read"),
            Self::Unreadable(why) => write!(f, "its inputs cannot be read: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::job::{
        EnvironmentDefinition, Image, JobDefinition, ReleaseDefinition, Step,
    };
    use executor_core::variable::JobVariable;

    fn job(script: &str) -> Job {
        Job {
            steps: vec![Step {
                script: vec![script.to_owned()],
                ..Step::default()
            }],
            definition: Some(Box::default()),
            ..Job::default()
        }
    }

    fn with(change: impl FnOnce(&mut JobDefinition)) -> Job {
        let mut job = job("make");
        change(job.definition.as_mut().expect("set above"));
        job
    }

    #[test]
    fn jobs_with_outside_effects_or_new_inputs_are_not_reusable() {
        let check = |job: &Job, executor: &str, expect: Option<&str>| {
            let config = RunnerConfig::new("runner", executor);
            let reason = NotReusable::of(job, &config, &JobTexts::of(job));
            let reason = reason.map(|it| it.to_string());
            assert_eq!(reason.as_deref(), expect);
        };
        check(&job("make"), "shell", None);
        check(&job("make"), "auto", None);
        check(
            &job("make"),
            "docker",
            Some("its image is not named by a digest"),
        );
        check(&job("echo $CI_COMMIT_SHA"), "shell", None);
        check(&job("cd $CI_PROJECT_DIR"), "shell", None);
        check(
            &job("echo $CI_PIPELINE_ID"),
            "shell",
            Some("it names CI_PIPELINE_ID, which is new in every run"),
        );
        check(
            &job("env | sort"),
            "shell",
            Some("it may read any variable, and some are new in every run"),
        );
        let remote = Job {
            definition: None,
            ..job("make")
        };
        check(&remote, "shell", Some("its definition is unknown"));
        check(
            &with(|it| it.when = When::Manual),
            "shell",
            Some("it is started by hand"),
        );
        check(
            &with(|it| it.when = When::OnFailure),
            "shell",
            Some("it runs because another one failed"),
        );
        check(&with(|it| it.when = When::Always), "shell", None);
        check(
            &with(|it| it.environment = Some(Box::new(EnvironmentDefinition::named("qa")))),
            "shell",
            Some("it has `environment`"),
        );
        check(
            &with(|it| it.release = Some(Box::new(ReleaseDefinition::default()))),
            "shell",
            Some("it has `release`"),
        );
        check(
            &with(|it| it.trigger = Some(Box::default())),
            "shell",
            Some("it has `trigger`"),
        );
        let refers = Job {
            variables: vec![JobVariable::public("TAG", "v$CI_PIPELINE_IID")],
            ..job("make")
        };
        check(
            &refers,
            "shell",
            Some("its variable TAG names CI_PIPELINE_IID, which is new in every run"),
        );
        let imaged = |name: &str| Job {
            image: Image::named(name),
            ..job("make")
        };
        check(&imaged("rust:1"), "shell", None);
        check(
            &imaged("rust:1"),
            "docker",
            Some("its image is not named by a digest"),
        );
        check(&imaged("rust@sha256:aa"), "docker", None);
    }
}
