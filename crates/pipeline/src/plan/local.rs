use super::{Plan, PlanError, PlannedJob, RefusedJob, ancestors};
use crate::config::{JobKind, variable_name_problem};
use crate::parity::{Class, check_job};
use executor_core::job::VariableDefinition;
use executor_core::variable::MAX_ENVIRONMENT_ENTRY;

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
        let invalid_shared: Vec<InvalidVariable<'_>> =
            invalid_variables(shared.flat_map(|variables| variables.iter())).collect();
        let given = self.context.external.iter();
        let everywhere = given.filter(|given| given.scope_match(None).is_some());
        let mut given = everywhere
            .map(|given| &given.variable)
            .filter(|variable| !variable.file);
        let invalid_given = given
            .find_map(|variable| Some((&*variable.key, too_long(&variable.key, &variable.value)?)));
        let started = self.jobs.iter().filter(|job| job.will_start());
        let refused = started.filter_map(|job| {
            let problem = problem(job, &invalid_shared, invalid_given.as_ref());
            let found = problem.map(|why| (why, None)).or_else(|| {
                let mut deviations = check_job(&job.definition).into_iter();
                let refused = deviations.find(|deviation| deviation.class == Class::Error)?;
                Some((refused.message(), Some(refused.keyword)))
            });
            let of_ancestors = || Some((ancestors::dependencies(self, job).err()?, None));
            let (why, keyword) = found.or_else(of_ancestors)?;
            Some(RefusedJob {
                name: job.name().to_owned(),
                why,
                keyword,
                span: job.created.resolved.span,
            })
        });
        let refused: Vec<RefusedJob> = refused.collect();
        if refused.is_empty() {
            return Ok(());
        }
        Err(PlanError::NotLocal(refused))
    }
}

/// A variable that cannot be in the environment of a process, and why.
type InvalidVariable<'n> = (&'n str, String);

fn invalid_variables<'n>(
    variables: impl Iterator<Item = (&'n String, &'n VariableDefinition)>,
) -> impl Iterator<Item = InvalidVariable<'n>> {
    variables.filter_map(|(name, definition)| {
        let problem = variable_name_problem(name).map(|problem| {
            format!("the variable name {name:?} {problem}, so it cannot be set in any job")
        });
        let problem = problem.or_else(|| too_long(name, definition.value()))?;
        Some((name.as_str(), problem))
    })
}

/// Returns why a value cannot be in the environment of a process of Linux.
fn too_long(name: &str, value: &str) -> Option<String> {
    let most = MAX_ENVIRONMENT_ENTRY.saturating_sub(name.len() + 2);
    (value.len() > most).then(|| {
        format!(
            "the variable {name} has {} bytes, more than the {most} that a process accepts; make it a \
             file variable",
            value.len()
        )
    })
}

/// Returns why a job cannot run locally, whatever its keywords; `invalid_shared` are the invalid ones among the variables
/// that jobs may inherit, and `invalid_given` is the first one from outside.
fn problem(
    job: &PlannedJob,
    invalid_shared: &[InvalidVariable<'_>],
    invalid_given: Option<&InvalidVariable<'_>>,
) -> Option<String> {
    let definition = &job.definition;
    let created = &job.created;
    if created.resolved.kind == JobKind::Trigger && definition.trigger.is_none() {
        return Some(MIRROR.to_owned());
    }
    let own = definition.job_variables.iter().flatten();
    let own = own.chain(created.rule_variables().into_iter().flatten());
    let invalid_own = invalid_variables(own).next();
    let inherited = &created.resolved.inherited_variables;
    let mut shared = invalid_shared.iter();
    let invalid_shared = shared.find(|(name, _)| inherited.includes(name));
    let invalid = invalid_own.as_ref().or(invalid_shared).or(invalid_given);
    invalid.map(|(_, problem)| problem.clone())
}
