use super::verdict::{ClauseKind, ClauseVerdict, RuleOutcome, UsedVariable};
use super::{Changes, Exists, FileVerdict, Rule, RuleContext, RuleError};
use crate::context::referenced;
use crate::expression::{Expression, MASKED, Variables};
use std::collections::BTreeSet;

/// What became of one rule, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    /// Whether it decided.
    pub outcome: RuleOutcome,
    /// Its conditions; none: it always holds. Those of a rule that was not reached are there, too.
    pub clauses: Vec<ClauseVerdict>,
}

/// Looks at every condition of every rule, also behind the one that decides.
///
/// The rule whose outcome is [`RuleOutcome::Held`] is that of [`first_match`](super::first_match).
/// A condition that has no answer says so in its note, and the rules behind it are not reached.
pub fn examine(rules: &[Rule], context: &RuleContext<'_>) -> Vec<RuleVerdict> {
    let mut is_decided = false;
    let verdicts = rules.iter().map(|rule| {
        let clauses = clauses(rule, context);
        let outcome = if is_decided {
            RuleOutcome::NotReached
        } else if clauses.iter().all(|clause| clause.holds == Some(true)) {
            RuleOutcome::Held
        } else {
            RuleOutcome::Failed
        };
        // As the conditions stop at the first that does not hold, so does the search for an answer.
        let decisive = clauses.iter().find(|clause| clause.holds != Some(true));
        is_decided |= decisive.is_none_or(|clause| clause.holds.is_none());
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
        let verdict = context.files.changes(changes, context);
        let text = changes_text(changes);
        clauses.push(file_clause(ClauseKind::Changes, text, &verdict, context));
    }
    if let Some(exists) = &rule.exists {
        let verdict = context.files.exists(exists, context);
        let text = exists_text(exists);
        clauses.push(file_clause(ClauseKind::Exists, text, &verdict, context));
    }
    clauses
}

/// Says what a condition on variables yields.
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

/// Says what a condition on files yields.
pub(super) fn file_clause(
    kind: ClauseKind,
    text: String,
    verdict: &Result<FileVerdict, RuleError>,
    context: &RuleContext<'_>,
) -> ClauseVerdict {
    let (holds, note) = match verdict {
        // What fits a secret is the secret.
        Ok(FileVerdict::Fits { .. }) if context.names_secret(&text) => {
            (Some(true), "a file fits".to_owned())
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
    let since = since.map_or(String::new(), |since| format!(" compared to {since}"));
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
