//! The jobs of a pipeline in one situation: as a table, or as a graph for other tools to draw.

mod dot;
mod edges;
mod mermaid;
mod table;

pub use dot::dot;
pub use mermaid::mermaid;
pub use table::{may_fail, start, table};

use crate::text::strip_controls;
use executor_core::job::JobDefinition;
use executor_core::{HumanDuration, parse_duration};
use std::time::Duration;

/// A stage that has jobs, with those jobs.
#[derive(Debug)]
pub struct PlanStage<'p> {
    /// Its name.
    pub(crate) name: &'p str,
    /// Its jobs.
    pub(crate) jobs: Vec<PlanJob<'p>>,
}

/// A job, and why it is as it is.
#[derive(Debug)]
pub struct PlanJob<'p> {
    /// The job.
    pub definition: &'p JobDefinition,
    /// What decided about it; empty where there was nothing to decide.
    pub why: String,
    /// How long it usually takes, where that is known and asked for.
    pub usual: Option<Duration>,
}

/// Returns the delay of a job as durations are written everywhere.
pub(crate) fn delay(start_in: &str) -> String {
    let delay = parse_duration(start_in).map(|delay| HumanDuration(delay).to_string());
    delay.unwrap_or_else(|| strip_controls(start_in))
}

/// Returns the stages with their jobs; `jobs` are in the order of their stages.
pub fn stages<'p>(jobs: impl IntoIterator<Item = PlanJob<'p>>) -> Vec<PlanStage<'p>> {
    let mut stages: Vec<PlanStage<'p>> = Vec::new();
    for job in jobs {
        let name = job.definition.stage.as_str();
        match stages.last_mut() {
            Some(stage) if stage.name == name => stage.jobs.push(job),
            _ => stages.push(PlanStage {
                name,
                jobs: vec![job],
            }),
        }
    }
    stages
}

#[cfg(test)]
pub(super) mod sample {
    use super::*;
    use executor_core::job::{Need, When};

    fn job(name: &str, stage: &str, needs: Option<&[&str]>) -> JobDefinition {
        let need = |name: &&str| Need {
            job: (*name).to_owned(),
            artifacts: true,
            optional: false,
        };
        JobDefinition {
            name: name.to_owned(),
            stage: stage.to_owned(),
            needs: needs.map(|names| names.iter().map(need).collect()),
            ..JobDefinition::default()
        }
    }

    /// Returns jobs with all that a picture of them shows, and names that are hard to show.
    pub(in super::super) fn jobs() -> Vec<JobDefinition> {
        let mut deploy = job("deploy", "ship", None);
        deploy.when = When::Manual;
        deploy.allow_failure = true;
        deploy.environment = serde_json::from_value(serde_json::json!({"name": "production"}))
            .expect("an environment");
        let mut later = job("later", "ship", Some(&[]));
        later.when = When::Delayed;
        later.start_in = Some("125 seconds".to_owned());
        vec![
            job("compile", "build", None),
            job("say \"hi\\\" <b>#1;</b>", "build", None),
            job("test: [日本]", "te]st", Some(&["compile", "gone"])),
            job("lint", "te]st", None),
            deploy,
            later,
        ]
    }

    pub(in super::super) fn sample_stages(jobs: &[JobDefinition]) -> Vec<PlanStage<'_>> {
        stages(jobs.iter().map(|definition| PlanJob {
            definition,
            why: if definition.name == "deploy" {
                "rule 2: if $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH".to_owned()
            } else {
                String::new()
            },
            usual: None,
        }))
    }
}
