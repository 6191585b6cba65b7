use super::conditions::Conditions;
use super::{CreatedJob, Layers};
use crate::config::RulesKeyword;
use crate::resolve::ResolvedJob;
use crate::rules::Rule;
use executor_core::job::{JobDefinition, SchedulingKind, When};
use std::sync::Arc;
use yaml::diagnostic::Diagnostic;

/// Decides whether a job is in the pipeline, and applies the rule that matched.
///
/// # Errors
///
/// When a condition cannot be evaluated.
pub(super) fn decide(
    resolved: &ResolvedJob,
    conditions: &Conditions<'_>,
    layers: &Layers<'_>,
) -> Result<CreatedJob, Diagnostic> {
    let definition = &resolved.definition;
    let job_layers = layers.of_job(definition, &resolved.inherited_variables, None);
    let created = |is_included: bool, rule: Option<usize>, definition: &Arc<JobDefinition>| {
        Ok(CreatedJob {
            resolved: resolved.clone(),
            definition: Arc::clone(definition),
            shown: Arc::clone(definition),
            is_included,
            rule,
        })
    };
    let RulesKeyword::List(rules) = &resolved.rules else {
        let keeps = conditions.policies_keep(resolved, &job_layers)?;
        return created(keeps, None, definition);
    };
    let Some(at) = conditions.first_match(rules, &job_layers)? else {
        return created(false, None, definition);
    };
    let rule = &rules[at];
    if rule.when == Some(When::Never) {
        return created(false, Some(at), definition);
    }
    let changed = with_rule(resolved, rule, at);
    created(true, Some(at), changed.as_ref().unwrap_or(definition))
}

/// Applies a rule that matched to the definition; returns nothing when it changes nothing, so that
/// thousands of jobs can share definitions.
///
/// A job that is manual by itself may fail, regardless of the rule's `when`; a job that a rule
/// makes manual blocks the pipeline unless the rule allows its failure.
fn with_rule(resolved: &ResolvedJob, rule: &Rule, at: usize) -> Option<Arc<JobDefinition>> {
    let mut changed = Arc::clone(&resolved.definition);
    let when = rule.when.or(resolved.when).unwrap_or_default();
    if when != changed.when {
        Arc::make_mut(&mut changed).when = when;
    }
    if rule.start_in.is_some() && rule.start_in != changed.start_in {
        Arc::make_mut(&mut changed)
            .start_in
            .clone_from(&rule.start_in);
    }
    if let Some(allow_failure) = rule.allow_failure
        && (allow_failure != changed.allow_failure || changed.allow_failure_exit_codes.is_some())
    {
        let changed = Arc::make_mut(&mut changed);
        changed.allow_failure = allow_failure;
        changed.allow_failure_exit_codes = None;
    }
    if rule.interruptible.is_some() && rule.interruptible != changed.interruptible {
        Arc::make_mut(&mut changed).interruptible = rule.interruptible;
    }
    if let Some(needs) = resolved.needs_of_rule(at) {
        let changed = Arc::make_mut(&mut changed);
        changed.needs = Some(needs.needs.clone());
        changed.needs_cross = (!needs.cross.is_empty()).then(|| needs.cross.clone());
        changed.scheduling = SchedulingKind::Dag;
    }
    (!Arc::ptr_eq(&changed, &resolved.definition)).then_some(changed)
}
