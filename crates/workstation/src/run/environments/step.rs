use super::environment::{Deployment, Environment, EnvironmentState};
use executor_core::job::{DeploymentTier, EnvironmentAction, Job};
use executor_core::variable::{JobVariable, JobVariables, expand_with};
use jiff::Timestamp;
use pipeline::config::parse_duration;
use pipeline::context::{environment_slug, environment_tier};
use std::borrow::Cow;
use std::time::Duration;

/// What a job that ended well did to an environment.
///
/// | action | what becomes of the environment |
/// |---|---|
/// | `start` | it is available, deployed by this job; its time begins anew, or it has none |
/// | `prepare`, `verify`, `access` | it is known; its time begins anew if the job says one |
/// | `stop` | it is stopped |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentStep {
    /// The environment's name.
    pub name: String,
    /// What was done.
    pub action: EnvironmentAction,
    /// Where it is reached.
    pub url: Option<String>,
    /// What it is for.
    pub tier: DeploymentTier,
    /// The job that stops it.
    pub on_stop: Option<String>,
    /// How long it lives.
    pub auto_stop_in: Option<Duration>,
    /// The number of the job's pipeline.
    pub pipeline: u64,
    /// The job.
    pub job: String,
}

impl EnvironmentStep {
    /// Returns what a job did that ended well; `dotenv` are the variables of its own reports, which
    /// may be in the address.
    ///
    /// Nothing for a job without an environment, or with one whose name is empty.
    pub fn of(job: &Job, dotenv: &[JobVariable]) -> Option<Self> {
        let definition = job.definition.as_deref()?;
        let environment = definition.environment.as_deref()?;
        let name = environment.name.trim();
        if name.is_empty() {
            return None;
        }
        let tier = environment.deployment_tier;
        let life = environment.auto_stop_in.as_deref();
        Some(Self {
            name: name.to_owned(),
            action: environment.action.unwrap_or_default(),
            url: environment
                .url
                .as_deref()
                .map(|url| address(url, job, dotenv)),
            tier: tier.unwrap_or_else(|| environment_tier(name)),
            on_stop: environment.on_stop.clone(),
            auto_stop_in: life.and_then(parse_duration),
            pipeline: job.job_info.pipeline_id.0,
            job: job.job_info.name.clone(),
        })
    }

    /// Returns the environment after the step; nothing when there was none and is none.
    pub fn apply(&self, before: Option<Environment>, now: Timestamp) -> Option<Environment> {
        if self.action == EnvironmentAction::Stop {
            return before.map(|before| before.stopped(now));
        }
        let mut after = before.unwrap_or_else(|| self.found(now));
        after.updated_at = now;
        let until = self
            .auto_stop_in
            .and_then(|life| now.checked_add(life).ok());
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
    fn found(&self, now: Timestamp) -> Environment {
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
    /// Returns it as it is when it was stopped.
    pub(super) fn stopped(mut self, now: Timestamp) -> Self {
        self.state = EnvironmentState::Stopped;
        self.auto_stop_at = None;
        self.updated_at = now;
        self
    }
}

/// Returns the address with all variables replaced, those of the job's dotenv reports first. A masked
/// value stays masked: the list is for everybody to read.
fn address(url: &str, job: &Job, dotenv: &[JobVariable]) -> String {
    let all = job.variables.iter().chain(dotenv).cloned();
    let all: JobVariables = all
        .map(|variable| {
            if !variable.masked {
                return variable;
            }
            JobVariable {
                raw: true,
                ..JobVariable::masked(variable.key, "[MASKED]")
            }
        })
        .collect();
    let all = all.expanded();
    expand_with(url, |name| all.get(name).map(Cow::Borrowed)).into_owned()
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

    fn step(action: EnvironmentAction, life: Option<&str>) -> EnvironmentStep {
        let definition = EnvironmentDefinition {
            action: Some(action),
            on_stop: Some("stop".to_owned()),
            auto_stop_in: life.map(ToOwned::to_owned),
            ..EnvironmentDefinition::named("review/x")
        };
        EnvironmentStep::of(&job(definition), &[]).expect("a step")
    }

    #[test]
    fn the_address_knows_the_variables_of_the_report_and_shows_no_secret() {
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
    fn each_action_does_its_part() {
        use EnvironmentAction::{Access, Prepare, Start, Stop, Verify};
        let check = |actions: &[(EnvironmentAction, Option<&str>)], expect: &str| {
            let after = actions.iter().fold(None, |before, &(action, life)| {
                step(action, life).apply(before, now())
            });
            let told = after.map_or("none".to_owned(), |it| {
                let until = it.auto_stop_at.map(|at| at.to_string());
                let by = it.deployment.map(|it| it.pipeline);
                format!("{} {by:?} {until:?}", it.state.as_str())
            });
            assert_eq!(told, expect, "after {actions:?}");
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
