use super::{Plan, PlanError, PlannedJob};
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
        let started = self.jobs.iter().filter(|job| job.will_start());
        let refused = started.filter_map(|job| {
            let why = refusal(job)?;
            Some((job.name().to_owned(), why))
        });
        let refused: Vec<(String, String)> = refused.collect();
        if refused.is_empty() {
            return Ok(());
        }
        Err(PlanError::NotLocal(refused))
    }
}

/// Returns why a job cannot run here.
fn refusal(job: &PlannedJob) -> Option<String> {
    let definition = &job.definition;
    if job.created.resolved.kind == JobKind::Trigger && definition.trigger.is_none() {
        return Some(MIRROR.to_owned());
    }
    let odd = definition.variables.keys();
    if let Some((name, problem)) = odd
        .into_iter()
        .find_map(|name| Some((name, variable_name_problem(name)?)))
    {
        return Some(format!(
            "the variable name {name:?} {problem}: no process can have it"
        ));
    }
    let mut findings = check_job(definition).into_iter();
    let refused = findings.find(|finding| finding.class == Class::Error);
    refused.map(|finding| finding.message())
}
