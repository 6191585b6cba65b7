use super::{Plan, PlanError, PlannedJob, ancestors};
use crate::config::{JobKind, variable_name_problem};
use crate::parity::{Class, check_job};

/// Why a job that mirrors another pipeline is refused.
const MIRROR: &str = "`needs:pipeline`: there is no other pipeline to mirror";

impl Plan {
    /// Checks that each job that will start can run on this machine as written.
    ///
    /// # Errors
    ///
    /// When jobs need features that a local run lacks; all such jobs are named.
    pub fn check_local(&self) -> Result<(), PlanError> {
        let shared = [&self.global_variables, &self.workflow_variables].into_iter();
        let invalid_shared: Vec<InvalidName<'_>> =
            invalid_names(shared.flat_map(|variables| variables.keys())).collect();
        let started = self.jobs.iter().filter(|job| job.will_start());
        let refused = started.filter_map(|job| {
            let why = refusal(job, &invalid_shared);
            let why = why.or_else(|| ancestors::dependencies(self, job).err())?;
            Some((job.name().to_owned(), why))
        });
        let refused: Vec<(String, String)> = refused.collect();
        if refused.is_empty() {
            return Ok(());
        }
        Err(PlanError::NotLocal(refused))
    }
}

/// A name that cannot be an environment variable, and why.
type InvalidName<'n> = (&'n str, &'static str);

fn invalid_names<'n>(
    names: impl Iterator<Item = &'n String>,
) -> impl Iterator<Item = InvalidName<'n>> {
    names.filter_map(|name| Some((name.as_str(), variable_name_problem(name)?)))
}

/// Returns why a job cannot run locally; `invalid_shared` are the invalid names among the variables
/// that jobs may inherit.
fn refusal(job: &PlannedJob, invalid_shared: &[InvalidName<'_>]) -> Option<String> {
    let definition = &job.definition;
    let created = &job.created;
    if created.resolved.kind == JobKind::Trigger && definition.trigger.is_none() {
        return Some(MIRROR.to_owned());
    }
    let own = definition.job_variables.iter().flatten();
    let own = own.chain(created.rule_variables().into_iter().flatten());
    let mut invalid_own = invalid_names(own.map(|(name, _)| name));
    let mut shared = invalid_shared.iter().copied();
    let inherited = &created.resolved.inherited_variables;
    let invalid = invalid_own.next();
    if let Some((name, problem)) =
        invalid.or_else(|| shared.find(|(name, _)| inherited.includes(name)))
    {
        return Some(format!(
            "the variable name {name:?} {problem}, so it cannot be set in any job"
        ));
    }
    let mut deviations = check_job(definition).into_iter();
    let refused = deviations.find(|deviation| deviation.class == Class::Error);
    refused.map(|deviation| deviation.message())
}
