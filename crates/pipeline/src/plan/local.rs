use super::{Plan, PlanError, PlannedJob, relatives};
use crate::config::{JobKind, variable_name_problem};
use crate::parity::{Class, check_job};

/// What a job does that only waits for another pipeline.
const MIRROR: &str = "`needs:pipeline`: no other pipeline is there to be waited for";

impl Plan {
    /// Checks that each job can run on this machine without becoming another one. A manual job that
    /// nobody asked for may be any.
    ///
    /// # Errors
    ///
    /// When a job asks for what would be missing here; all such jobs are named.
    pub fn check_local(&self) -> Result<(), PlanError> {
        let shared = [&self.global_variables, &self.workflow_variables].into_iter();
        let odd_shared: Vec<OddName<'_>> =
            odd_names(shared.flat_map(|variables| variables.keys())).collect();
        let started = self.jobs.iter().filter(|job| job.will_start());
        let refused = started.filter_map(|job| {
            let why = refusal(job, &odd_shared);
            let why = why.or_else(|| relatives::dependencies(self, job).err())?;
            Some((job.name().to_owned(), why))
        });
        let refused: Vec<(String, String)> = refused.collect();
        if refused.is_empty() {
            return Ok(());
        }
        Err(PlanError::NotLocal(refused))
    }
}

/// A name that no process can have for a variable, and why.
type OddName<'n> = (&'n str, &'static str);

fn odd_names<'n>(names: impl Iterator<Item = &'n String>) -> impl Iterator<Item = OddName<'n>> {
    names.filter_map(|name| Some((name.as_str(), variable_name_problem(name)?)))
}

/// Returns why a job cannot run here; `odd_shared` are the odd names among what all jobs may inherit.
fn refusal(job: &PlannedJob, odd_shared: &[OddName<'_>]) -> Option<String> {
    let definition = &job.definition;
    let created = &job.created;
    if created.resolved.kind == JobKind::Trigger && definition.trigger.is_none() {
        return Some(MIRROR.to_owned());
    }
    let own = definition.job_variables.iter().flatten();
    let own = own.chain(created.rule_variables().into_iter().flatten());
    let mut odd_own = odd_names(own.map(|(name, _)| name));
    let mut shared = odd_shared.iter().copied();
    let inherited = &created.resolved.inherited_variables;
    let odd = odd_own.next();
    if let Some((name, problem)) = odd.or_else(|| shared.find(|(name, _)| inherited.includes(name)))
    {
        return Some(format!(
            "the variable name {name:?} {problem}: no process can have it"
        ));
    }
    let mut findings = check_job(definition).into_iter();
    let refused = findings.find(|finding| finding.class == Class::Error);
    refused.map(|finding| finding.message())
}
