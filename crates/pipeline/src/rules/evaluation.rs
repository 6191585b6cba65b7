use super::file_conditions::{FileConditions, names_secret};
use super::verdict::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
use super::{Changes, Exists, FileVerdict, Rule, RuleError};
use crate::context::referenced;
use crate::expression::{Expression, MASKED, Variables};
use std::collections::BTreeSet;
use std::fmt;

/// The context in which rules are evaluated.
#[derive(Clone, Copy)]
pub struct RuleContext<'c> {
    /// The variables for conditions, not expanded.
    pub variables: &'c dyn Variables,
    /// The variables for globs and refs, expanded.
    pub expanded: &'c dyn Variables,
    /// The conditions on files, with cached results.
    pub files: &'c FileConditions<'c>,
}

impl fmt::Debug for RuleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleContext")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Returns the index of the first rule that matches; `None` when none does.
///
/// # Errors
///
/// When a condition needs a ref, a project or a repository that is not available.
pub fn first_match(rules: &[Rule], context: &RuleContext<'_>) -> Result<Option<usize>, RuleError> {
    for (at, rule) in rules.iter().enumerate() {
        if is_match(rule, context)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Returns whether every condition of a rule holds, stopping at the first that does not.
fn is_match(rule: &Rule, context: &RuleContext<'_>) -> Result<bool, RuleError> {
    if let Some(condition) = &rule.condition
        && !condition.value.is_true(context.variables)
    {
        return Ok(false);
    }
    if let Some(changes) = &rule.changes
        && !context.files.changes(changes, context.expanded)?.holds()
    {
        return Ok(false);
    }
    match &rule.exists {
        Some(exists) => Ok(context.files.exists(exists, context.expanded)?.holds()),
        None => Ok(true),
    }
}

/// The outcome of one rule, with its conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    /// The outcome.
    pub outcome: RuleOutcome,
    /// Its conditions, also for a rule that was not reached; a rule without any always matches.
    pub clauses: Vec<ClauseVerdict>,
}

/// Evaluates every condition of every rule, even after the rule that decides.
///
/// The rule whose outcome is [`RuleOutcome::Held`] is that of [`first_match`]. A condition that
/// cannot be evaluated has its error as a note; where it decides, the outcome is
/// [`RuleOutcome::Unknown`], and later rules are not reached.
pub fn examine(rules: &[Rule], context: &RuleContext<'_>) -> Vec<RuleVerdict> {
    let mut is_decided = false;
    let verdicts = rules.iter().map(|rule| {
        let clauses = clauses(rule, context);
        let outcome = if is_decided {
            RuleOutcome::NotReached
        } else {
            // Like `first_match`, the first condition that does not hold ends the rule: one that
            // cannot be evaluated ends the search only if it is reached.
            let decisive = clauses.iter().find(|clause| clause.holds != Some(true));
            match decisive.map(|clause| clause.holds) {
                None => RuleOutcome::Held,
                Some(None) => RuleOutcome::Unknown,
                Some(Some(_)) => RuleOutcome::Failed,
            }
        };
        is_decided |= outcome != RuleOutcome::Failed;
        RuleVerdict { outcome, clauses }
    });
    verdicts.collect()
}

fn clauses(rule: &Rule, context: &RuleContext<'_>) -> Vec<ClauseVerdict> {
    let mut clauses = Vec::new();
    if let Some(condition) = &rule.condition {
        clauses.push(expression_clause(&condition.value, context.variables));
    }
    if let Some(changes) = &rule.changes {
        let verdict = context.files.changes(changes, context.expanded);
        let text = changes_text(changes);
        clauses.push(file_clause(ClauseKind::Changes, text, &verdict, context));
    }
    if let Some(exists) = &rule.exists {
        let verdict = context.files.exists(exists, context.expanded);
        let text = exists_text(exists);
        clauses.push(file_clause(ClauseKind::Exists, text, &verdict, context));
    }
    clauses
}

/// Returns the verdict of a condition on variables.
pub(super) fn expression_clause(
    expression: &Expression,
    variables: &dyn Variables,
) -> ClauseVerdict {
    let trace = expression.trace(variables);
    ClauseVerdict {
        kind: ClauseKind::If,
        text: expression.text().to_owned(),
        holds: Some(trace.is_true),
        values: used(expression.variables(), variables),
        steps: trace.steps.iter().map(ToString::to_string).collect(),
        note: None,
    }
}

/// Returns the verdict of a condition on files.
pub(super) fn file_clause(
    kind: ClauseKind,
    text: String,
    verdict: &Result<FileVerdict, RuleError>,
    context: &RuleContext<'_>,
) -> ClauseVerdict {
    let (holds, note) = match verdict {
        // A file that matches a secret would reveal it.
        Ok(FileVerdict::Match { .. }) if names_secret(&text, context.expanded) => {
            (Some(true), "a file matches".to_owned())
        }
        Ok(verdict) => (Some(verdict.holds()), verdict.to_string()),
        Err(error) => (None, error.to_string()),
    };
    let names: BTreeSet<&str> = referenced(&text).into_iter().collect();
    let values = used(names.into_iter(), context.expanded);
    ClauseVerdict {
        kind,
        text,
        holds,
        values,
        steps: Vec::new(),
        note: Some(note),
    }
}

fn used<'n>(names: impl Iterator<Item = &'n str>, variables: &dyn Variables) -> Vec<UsedVariable> {
    let used = names.map(|name| {
        let is_masked = variables.is_masked(name);
        let shown = |value: &str| if is_masked { MASKED } else { value }.to_owned();
        UsedVariable {
            name: name.to_owned(),
            value: variables.get(name).map(shown),
        }
    });
    used.collect()
}

fn changes_text(changes: &Changes) -> String {
    let since = changes.compare_to.as_ref();
    let since = since.map_or(String::new(), |since| {
        format!(" compared to {}", since.value)
    });
    match &changes.regexp {
        Some(pattern) => format!("{pattern}{since}"),
        None => format!("{}{since}", changes.paths.join(", ")),
    }
}

fn exists_text(exists: &Exists) -> String {
    let mut text = match &exists.regexp {
        Some(pattern) => pattern.to_string(),
        None => exists.paths.join(", "),
    };
    if let Some(project) = &exists.project {
        text.push_str(" in ");
        text.push_str(project);
    }
    if let Some(reference) = &exists.reference {
        text.push('@');
        text.push_str(reference);
    }
    text
}
