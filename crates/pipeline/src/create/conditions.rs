use super::{JobLayers, Values};
use crate::context::PipelineContext;
use crate::repository::Repository;
use crate::resolve::ResolvedJob;
use crate::rules::{self, FileConditions, Rule, RuleContext, RuleError};
use yaml::diagnostic::Diagnostic;

/// Evaluates the conditions of rules against the situation and the repository.
#[derive(Debug)]
pub struct Conditions<'a> {
    context: &'a PipelineContext,
    files: FileConditions<'a>,
}

impl<'a> Conditions<'a> {
    /// Creates the conditions of one situation.
    pub fn new(context: &'a PipelineContext, repository: &'a dyn Repository) -> Self {
        let files = FileConditions::new(repository);
        Self { context, files }
    }

    /// Returns the index of the first rule that matches.
    pub(super) fn first_match(
        &self,
        rules: &[Rule],
        layers: &JobLayers<'_>,
    ) -> Result<Option<usize>, Diagnostic> {
        self.with(rules, layers, |context| rules::first_match(rules, context))
    }

    /// Returns whether `only` and `except` keep a job in the pipeline.
    pub(super) fn policies_keep(
        &self,
        resolved: &ResolvedJob,
        layers: &JobLayers<'_>,
    ) -> Result<bool, Diagnostic> {
        self.with(&[], layers, |context| {
            let only = resolved.only.as_deref();
            if let Some(only) = only
                && !only.keeps(self.context, context)?
            {
                return Ok(false);
            }
            match resolved.except.as_deref() {
                Some(except) => Ok(!except.excludes(self.context, context)?),
                None => Ok(true),
            }
        })
        .map_err(|problem| Diagnostic {
            span: problem.span.or(resolved.span),
            ..problem
        })
    }

    /// Calls `evaluate` with the context in which `rules` are evaluated.
    ///
    /// # Errors
    ///
    /// Returns the error of `evaluate`, as a problem with its location.
    pub fn with<T>(
        &self,
        rules: &[Rule],
        layers: &JobLayers<'_>,
        evaluate: impl FnOnce(&RuleContext<'_>) -> Result<T, RuleError>,
    ) -> Result<T, Diagnostic> {
        let values = file_texts(rules).map(|texts| layers.values_of(&texts));
        // Cycles among variables are reported by the checks of the pipeline.
        let values = Values(values.and_then(Result::ok).unwrap_or_default());
        let context = RuleContext {
            variables: layers,
            expanded: &values,
            files: &self.files,
        };
        evaluate(&context).map_err(|error| Diagnostic {
            span: error.span,
            help: error.help.map(ToOwned::to_owned),
            ..Diagnostic::error("not-created", error.message)
        })
    }

    /// Returns the situation.
    pub fn situation(&self) -> &'a PipelineContext {
        self.context
    }
}

/// Returns all texts of rules that refer to variables in conditions on files, joined.
fn file_texts(rules: &[Rule]) -> Option<String> {
    let changes = rules.iter().filter_map(|rule| rule.changes.as_deref());
    let changes = changes.flat_map(|changes| {
        let since = changes.compare_to.as_ref().map(|since| &since.value);
        changes.paths.iter().chain(since)
    });
    let exists = rules.iter().filter_map(|rule| rule.exists.as_deref());
    let exists = exists.flat_map(|exists| {
        let paths = exists.paths.iter();
        paths.chain(&exists.project).chain(&exists.reference)
    });
    let texts = changes
        .chain(exists)
        .filter(|text| text.contains(['$', '%']));
    texts
        .map(|text| text.clone() + " ")
        .reduce(|all, text| all + &text)
}
