use super::Plan;
use crate::config::Forward;
use crate::context::{Level, expand, referenced};
use crate::create::{Creation, JobLayers, LayeredVariable};
use executor_core::variable::{JobVariable, JobVariables};
use serde_json::Value;

impl Plan {
    /// Returns the variables that this pipeline passes to the one the job at `index` starts;
    /// `dotenv` are those from reports of the jobs whose artifacts that job fetches.
    ///
    /// The precedence is GitLab's, from low to high: variables of the file, of reports, and those
    /// this pipeline was started with. References are expanded with the variables visible to the
    /// job; a referenced file variable is passed on as well.
    ///
    /// # Panics
    ///
    /// Panics when there is no such job.
    pub fn forwarded(&self, index: usize, dotenv: &[JobVariable]) -> JobVariables {
        let job = &self.jobs[index];
        let forward = forward_of(job.definition.trigger.as_deref());
        let layers = self.layers();
        let job_layers = Creation::job_layers(&job.created, &layers);
        let mut forwarded = Forwarded {
            visible: Visible {
                job: &job_layers,
                dotenv,
            },
            variables: JobVariables::new(),
        };
        if forward.yaml_variables {
            job_layers.written().into_iter().for_each(|found| {
                forwarded.add(&found.to_variable());
            });
        }
        if forward.pipeline_variables {
            for variable in dotenv {
                forwarded.add(variable);
            }
            let given = self.context.external.iter();
            let given = given.filter(|given| given.level == Level::Pipeline);
            given.for_each(|given| forwarded.add(&given.variable));
        }
        forwarded.variables
    }
}

/// Reads `trigger:forward`, which is already validated.
fn forward_of(trigger: Option<&Value>) -> Forward {
    let written = trigger.and_then(|trigger| trigger.get("forward"));
    let flag = |key: &str| written?.get(key)?.as_bool();
    let default = Forward::default();
    Forward {
        yaml_variables: flag("yaml_variables").unwrap_or(default.yaml_variables),
        pipeline_variables: flag("pipeline_variables").unwrap_or(default.pipeline_variables),
    }
}

struct Forwarded<'a> {
    visible: Visible<'a>,
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
            let Some(found) = self.visible.find(name) else {
                continue;
            };
            // A value that contains a secret is a secret.
            forwarded.masked |= found.masked;
            forwarded.public &= found.public;
            if found.file {
                self.variables.push(found);
            }
        }
        let value = |name: &str| {
            let found = self.visible.find(name)?;
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

/// The variables visible to a job, including those of reports.
struct Visible<'a> {
    job: &'a JobLayers<'a>,
    dotenv: &'a [JobVariable],
}

impl Visible<'_> {
    fn find(&self, name: &str) -> Option<JobVariable> {
        let found = self.job.find(name);
        let is_given = |found: &LayeredVariable<'_>| found.external.is_some();
        let reported = || self.dotenv.iter().rev().find(|it| it.key == name).cloned();
        match found {
            Some(found) if is_given(&found) => Some(found.to_variable()),
            found => reported().or_else(|| found.map(LayeredVariable::to_variable)),
        }
    }
}
