use super::{Rule, RuleContext, RuleError};

/// Returns the place of the first rule that holds; `None` when none does.
///
/// # Errors
///
/// When the answer hangs on a ref, a project or a repository that is not there.
pub fn first_match(rules: &[Rule], context: &RuleContext<'_>) -> Result<Option<usize>, RuleError> {
    for (at, rule) in rules.iter().enumerate() {
        if holds(rule, context)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Returns whether every condition of a rule holds; what one does not hold is not asked further.
fn holds(rule: &Rule, context: &RuleContext<'_>) -> Result<bool, RuleError> {
    if let Some(condition) = &rule.condition
        && !condition.value.is_true(context.variables)
    {
        return Ok(false);
    }
    if let Some(changes) = &rule.changes
        && !context.files.changes(changes, context)?.holds()
    {
        return Ok(false);
    }
    match &rule.exists {
        Some(exists) => Ok(context.files.exists(exists, context)?.holds()),
        None => Ok(true),
    }
}
