use super::Plan;
use crate::config::Forward;
use crate::context::{Level, expand, referenced};
use crate::create::{Creation, JobLayers, LayeredVariable};
use executor_core::variable::{JobVariable, JobVariables};
use serde_json::Value;

/// Returns the variables that the pipeline started by the job at `index` gets, those that win alone;
/// `dotenv` are those from reports of earlier jobs.
///
/// The order is GitLab's: what the file gives the job, then reports, then what this pipeline was
/// started with. References are replaced by what the job sees; where one stands for a file, that
/// file goes along.
pub(super) fn of(plan: &Plan, index: usize, dotenv: &[JobVariable]) -> JobVariables {
    let job = &plan.jobs[index];
    let forward = forward_of(job.definition.trigger.as_deref());
    let layers = plan.layers();
    let sight = Creation::sight(&job.created, &layers);
    let mut forwarded = Forwarded {
        sight: Sight {
            job: &sight,
            dotenv,
        },
        variables: JobVariables::new(),
    };
    if forward.yaml_variables {
        sight.written().into_iter().for_each(|found| {
            forwarded.add(&found.to_variable());
        });
    }
    if forward.pipeline_variables {
        for variable in dotenv {
            forwarded.add(variable);
        }
        let given = plan.context.given.iter();
        let given = given.filter(|given| given.level == Level::Pipeline);
        given.for_each(|given| forwarded.add(&given.variable));
    }
    forwarded.variables
}

/// Returns what `trigger:forward` says; the file was checked before.
fn forward_of(trigger: Option<&Value>) -> Forward {
    let written = trigger.and_then(|trigger| trigger.get("forward"));
    let flag = |key: &str| written?.get(key)?.as_bool();
    let usual = Forward::default();
    Forward {
        yaml_variables: flag("yaml_variables").unwrap_or(usual.yaml_variables),
        pipeline_variables: flag("pipeline_variables").unwrap_or(usual.pipeline_variables),
    }
}

struct Forwarded<'a> {
    sight: Sight<'a>,
    variables: JobVariables,
}

impl Forwarded<'_> {
    fn add(&mut self, variable: &JobVariable) {
        if variable.raw || variable.file {
            self.variables.push(variable.clone());
            return;
        }
        let mut forwarded = variable.clone();
        for name in referenced(&variable.value) {
            let Some(found) = self.sight.find(name) else {
                continue;
            };
            // What a secret is put into is one.
            forwarded.masked |= found.masked;
            forwarded.public &= found.public;
            if found.file {
                self.variables.push(found);
            }
        }
        let value = |name: &str| {
            let found = self.sight.find(name)?;
            Some(if found.file {
                format!("${name}")
            } else {
                found.value
            })
        };
        forwarded.value = expand(&variable.value, value).into_owned();
        self.variables.push(forwarded);
    }
}

/// What a job sees, with the variables of reports.
struct Sight<'a> {
    job: &'a JobLayers<'a>,
    dotenv: &'a [JobVariable],
}

impl Sight<'_> {
    fn find(&self, name: &str) -> Option<JobVariable> {
        let found = self.job.find(name);
        let is_given = |found: &LayeredVariable<'_>| found.given.is_some();
        let reported = || self.dotenv.iter().rev().find(|it| it.key == name).cloned();
        match found {
            Some(found) if is_given(&found) => Some(found.to_variable()),
            found => reported().or_else(|| found.map(LayeredVariable::to_variable)),
        }
    }
}
