use super::conditions::Conditions;
use super::values::masked;
use super::{JobLayers, Refusal, RefusalReason, left_out};
use crate::config::Workflow;
use crate::context::expand;
use crate::rules::{AutoCancel, Rule};
use executor_core::job::When;
use yaml::diagnostic::Diagnostic;

/// The maximum length of a pipeline's name, in characters.
const LONGEST_NAME: usize = 255;

/// Returns the index of the workflow rule that matched; absent when the workflow has no rules.
///
/// # Errors
///
/// When no rule matches, or the one that does has `when: never`.
pub(super) fn decide(
    workflow: &Workflow,
    conditions: &Conditions<'_>,
    layers: &JobLayers<'_>,
) -> Result<Option<usize>, Refusal> {
    let rules = workflow.rules.entries();
    if rules.is_empty() {
        return Ok(None);
    }
    let refuse = |message: &str, rules: &[Rule]| {
        let related = left_out::by_rules(rules, conditions, layers);
        let problem = Diagnostic {
            span: related.first().map(|(span, _)| *span),
            related,
            ..Diagnostic::warning("no-pipeline", message)
        };
        Refusal::new(RefusalReason::WorkflowRules, problem)
    };
    let matching = conditions.first_match(rules, layers);
    let matching = matching.map_err(|problem| Refusal::new(RefusalReason::SeedError, problem))?;
    match matching {
        Some(at) if rules[at].when == Some(When::Never) => {
            let message =
                "there is no pipeline: the rule of `workflow` that matches has `when: never`";
            Err(refuse(message, &rules[at..=at]))
        }
        Some(at) => Ok(Some(at)),
        None => {
            let message = "there is no pipeline: no rule of `workflow` matches";
            Err(refuse(message, rules))
        }
    }
}

/// Returns the effective `auto_cancel`; each setting of the rule overrides the workflow's.
pub(super) fn auto_cancel(workflow: &Workflow, rule: Option<&Rule>) -> AutoCancel {
    let of_rule = rule.and_then(|rule| rule.auto_cancel).unwrap_or_default();
    let own = workflow.auto_cancel;
    AutoCancel {
        on_new_commit: of_rule.on_new_commit.or(own.on_new_commit),
        on_job_failure: of_rule.on_job_failure.or(own.on_job_failure),
    }
}

/// The expanded name of a pipeline; absent when blank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Name {
    /// The name as passed to jobs.
    pub(super) full: Option<String>,
    /// The name for display, with secrets masked.
    pub(super) shown: Option<String>,
}

/// Returns the pipeline's name.
pub(super) fn name(workflow: &Workflow, layers: &JobLayers<'_>) -> Result<Name, Diagnostic> {
    let Some(name) = &workflow.name else {
        return Ok(Name::default());
    };
    let problem = |message: String| Diagnostic::error("not-created", message).at(name.span);
    let values = layers.values_of(&name.value);
    let values = values.map_err(|error| problem(format!("workflow:name: {error}")))?;
    let full = expand(&name.value, |name| values.get(name));
    let full = full.trim();
    if full.chars().count() > LONGEST_NAME {
        let message = format!("workflow:name expands to more than {LONGEST_NAME} characters");
        return Err(problem(message));
    }
    let shown = masked(&name.value, &values);
    let present = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(Name {
        full: present(full),
        shown: present(shown.trim()),
    })
}
