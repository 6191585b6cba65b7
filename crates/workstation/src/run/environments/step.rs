use super::environment::{Deployment, Environment, EnvironmentState};
use executor_core::job::{DeploymentTier, EnvironmentAction, Job};
use executor_core::variable::{JobVariable, JobVariables, without_secrets};
use jiff::Timestamp;
use pipeline::config::parse_duration;
use pipeline::context::{environment_slug, environment_tier};
use std::time::Duration;

/// What a successful job does to a deployment environment.
///
/// | action | the environment |
/// |---|---|
/// | `start` | is available, deployed by this job; its `auto_stop_in` starts again, or it has none |
/// | `prepare`, `verify`, `access` | is created if new; its `auto_stop_in` starts again if the job has one |
/// | `stop` | is stopped |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentStep {
    /// The environment's name.
    pub name: String,
    /// The action.
    pub action: EnvironmentAction,
    /// Its URL.
    pub url: Option<String>,
    /// Its tier.
    pub tier: DeploymentTier,
    /// The job that stops it.
    pub on_stop: Option<String>,
    /// After which time it stops.
    pub auto_stop_in: Option<Duration>,
    /// The number of the job's pipeline.
    pub pipeline: u64,
    /// The job.
    pub job: String,
}

impl EnvironmentStep {
    /// Returns what a successful job does; `dotenv` are the variables of its dotenv reports, which the URL may
    /// use. `None` without an environment, or if its name is empty.
    pub fn of(job: &Job, dotenv: &[JobVariable]) -> Option<Self> {
        let definition = job.definition.as_deref()?;
        let environment = definition.environment.as_deref()?;
        let all = variables(job, dotenv);
        let name = without_secrets(environment.name.trim(), &all);
        if name.is_empty() {
            return None;
        }
        let tier = environment.deployment_tier;
        let auto_stop_in = environment.auto_stop_in.as_deref();
        Some(Self {
            action: environment.action.unwrap_or_default(),
            url: environment
                .url
                .as_deref()
                .map(|url| without_secrets(&all.expand(url), &all)),
            tier: tier.unwrap_or_else(|| environment_tier(&name)),
            name,
            on_stop: environment.on_stop.clone(),
            auto_stop_in: auto_stop_in.and_then(parse_duration),
            pipeline: job.job_info.pipeline_id.0,
            job: job.job_info.name.clone(),
        })
    }

    /// Returns the environment after the step; `None` if it still does not exist.
    pub fn apply(&self, before: Option<Environment>, now: Timestamp) -> Option<Environment> {
        if self.action == EnvironmentAction::Stop {
            return before.map(|before| before.stopped(now));
        }
        let mut after = before.unwrap_or_else(|| self.new_environment(now));
        after.updated_at = now;
        let until = self
            .auto_stop_in
            .and_then(|after| now.checked_add(after).ok());
        match self.action {
            EnvironmentAction::Start => {
                after.state = EnvironmentState::Available;
                after.tier = self.tier;
                after.url = self.url.clone().or(after.url);
                after.on_stop.clone_from(&self.on_stop);
                after.auto_stop_at = until;
                after.deployment = Some(Deployment {
                    pipeline: self.pipeline,
                    job: self.job.clone(),
                    at: now,
                });
            }
            _ if after.is_available() => after.auto_stop_at = until.or(after.auto_stop_at),
            _ => {}
        }
        Some(after)
    }

    /// Returns the environment as GitLab creates it for the first job that names it.
    fn new_environment(&self, now: Timestamp) -> Environment {
        Environment {
            name: self.name.clone(),
            slug: environment_slug(&self.name),
            url: self.url.clone(),
            tier: self.tier,
            state: EnvironmentState::Available,
            deployment: None,
            on_stop: None,
            auto_stop_at: None,
            updated_at: now,
        }
    }
}

impl Environment {
    /// Returns the environment stopped.
    pub(super) fn stopped(mut self, now: Timestamp) -> Self {
        self.state = EnvironmentState::Stopped;
        self.auto_stop_at = None;
        self.updated_at = now;
        self
    }
}

/// Returns the expanded variables of a job; those of its dotenv reports win.
fn variables(job: &Job, dotenv: &[JobVariable]) -> JobVariables {
    job.variables
        .iter()
        .chain(dotenv)
        .cloned()
        .collect::<JobVariables>()
        .expanded()
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::PipelineId;
    use executor_core::job::{EnvironmentDefinition, JobDefinition, JobInfo};

    fn now() -> Timestamp {
        "2026-11-21T10:00:00Z".parse().expect("a time")
    }

    fn job(environment: EnvironmentDefinition) -> Job {
        Job {
            job_info: JobInfo {
                name: "deploy".to_owned(),
                pipeline_id: PipelineId(7),
                ..JobInfo::default()
            },
            variables: vec![
                JobVariable::public("HOST", "x.example"),
                JobVariable::public("SITE", "https://$HOST"),
                JobVariable::masked("KEY", "s3cret"),
            ],
            definition: Some(Box::new(JobDefinition {
                environment: Some(Box::new(environment)),
                ..JobDefinition::default()
            })),
            ..Job::default()
        }
    }

    fn step(action: EnvironmentAction, auto_stop_in: Option<&str>) -> EnvironmentStep {
        let definition = EnvironmentDefinition {
            action: Some(action),
            on_stop: Some("stop".to_owned()),
            auto_stop_in: auto_stop_in.map(ToOwned::to_owned),
            ..EnvironmentDefinition::named("review/x")
        };
        EnvironmentStep::of(&job(definition), &[]).expect("a step")
    }

    #[test]
    fn url_uses_dotenv_variables_and_hides_secrets() {
        let check = |url: &str, expect: &str| {
            let definition = EnvironmentDefinition {
                url: Some(url.to_owned()),
                ..EnvironmentDefinition::named("prod")
            };
            let dotenv = [JobVariable::public("PORT", "81")];
            let step = EnvironmentStep::of(&job(definition), &dotenv).expect("a step");
            assert_eq!(step.url.as_deref(), Some(expect));
        };
        check("https://$HOST:$PORT", "https://x.example:81");
        check("$SITE/${GONE}a", "https://x.example/a");
        check("https://h/?k=$KEY", "https://h/?k=[MASKED]");
    }

    #[test]
    fn actions_change_environments_as_in_gitlab() {
        use EnvironmentAction::{Access, Prepare, Start, Stop, Verify};
        let check = |actions: &[(EnvironmentAction, Option<&str>)], expect: &str| {
            let after = actions
                .iter()
                .fold(None, |before, &(action, auto_stop_in)| {
                    step(action, auto_stop_in).apply(before, now())
                });
            let text = after.map_or("none".to_owned(), |it| {
                let until = it.auto_stop_at.map(|at| at.to_string());
                let by = it.deployment.map(|it| it.pipeline);
                format!("{} {by:?} {until:?}", it.state.as_str())
            });
            assert_eq!(text, expect, "after {actions:?}");
        };
        check(&[(Start, None)], "available Some(7) None");
        let hour = Some("1 hour");
        check(
            &[(Start, hour)],
            r#"available Some(7) Some("2026-11-21T11:00:00Z")"#,
        );
        check(&[(Start, hour), (Start, None)], "available Some(7) None");
        check(
            &[(Start, hour), (Verify, Some("1 day"))],
            r#"available Some(7) Some("2026-11-22T10:00:00Z")"#,
        );
        check(
            &[(Start, hour), (Access, None)],
            r#"available Some(7) Some("2026-11-21T11:00:00Z")"#,
        );
        check(&[(Start, hour), (Stop, None)], "stopped Some(7) None");
        check(
            &[(Start, hour), (Stop, None), (Access, hour)],
            "stopped Some(7) None",
        );
        check(&[(Prepare, None)], "available None None");
        check(&[(Stop, None)], "none");
        check(&[(Start, Some("soon"))], "available Some(7) None");
    }
}
