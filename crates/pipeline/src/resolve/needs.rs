use super::expand::{Expansion, chosen_names};
use super::matrix_value::{has_values, interpolate};
use crate::config::{Job, JobNeed, Matrix, NeedEntry, Spanned};
use crate::rules::Rule;
use executor_core::job::{CrossNeed, Need};
use std::sync::Arc;
use yaml::diagnostic::{Diagnostic, Diagnostics};

/// The maximum number of needs of all jobs of a pipeline.
const MOST_NEEDS: usize = 1_000_000;

/// The needs of one rule, in the form of `needs` and `needs_cross` of a definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedNeeds {
    /// The jobs of this pipeline.
    pub needs: Vec<Need>,
    /// The jobs of other pipelines and projects.
    pub cross: Vec<CrossNeed>,
}

/// Expands needs to the names of `parallel` instances.
#[derive(Debug)]
pub(super) struct NeedsExpansion<'c> {
    expansion: &'c Expansion<'c>,
    left: usize,
}

impl<'c> NeedsExpansion<'c> {
    pub(super) fn new(expansion: &'c Expansion<'c>) -> Self {
        Self {
            expansion,
            left: MOST_NEEDS,
        }
    }

    /// Returns the needs of one instance with the matrix values `values`.
    pub(super) fn expand(
        &mut self,
        entries: &[Spanned<NeedEntry>],
        values: &[(String, String)],
    ) -> ResolvedNeeds {
        let mut resolved = ResolvedNeeds::default();
        for entry in entries {
            match &entry.value {
                NeedEntry::Cross(need) => resolved.cross.push(need.clone()),
                NeedEntry::Mirror(pipeline) => resolved.cross.push(CrossNeed {
                    pipeline: Some(pipeline.clone()),
                    ..CrossNeed::default()
                }),
                NeedEntry::Job(need) => {
                    let need = with_values(need, values);
                    self.expand_one(&need, &mut resolved.needs);
                }
            }
        }
        resolved
    }

    fn expand_one(&mut self, need: &JobNeed, needs: &mut Vec<Need>) {
        let before = needs.len();
        let left = self.left;
        let of_name = |job: String| Need {
            job,
            ..need.need.clone()
        };
        if let Some(matrix) = &need.matrix {
            needs.extend(chosen_names(need, matrix).take(left).map(of_name));
        } else {
            let names = self.expansion.expand(&need.need.job).take(left);
            needs.extend(names.map(|name| of_name(name.to_owned())));
        }
        self.left -= needs.len() - before;
    }

    /// Returns the needs of the rules by index; an empty list when no rule has any.
    pub(super) fn expand_rules(
        &mut self,
        rules: &[Rule],
        values: &[(String, String)],
    ) -> Arc<[Option<ResolvedNeeds>]> {
        if rules.iter().all(|rule| rule.needs.is_none()) {
            return Arc::default();
        }
        let needs = rules.iter().map(|rule| {
            let needs = rule.needs.as_deref();
            needs.map(|needs| self.expand(needs, values))
        });
        needs.collect()
    }

    /// Counts copied needs; returns whether the limit permits them.
    pub(super) fn charge(&mut self, count: usize) -> bool {
        let is_permitted = count <= self.left;
        self.left = self.left.saturating_sub(count);
        is_permitted
    }

    /// Reports an error if there were too many needs.
    pub(super) fn finish(&self, diagnostics: &mut Diagnostics) {
        if self.left == 0 {
            let message = format!("the jobs have more than {MOST_NEEDS} needs in total");
            diagnostics.push(Diagnostic::error("too-many-needs", message));
        }
    }
}

/// Returns all needs of a job, including those of its rules.
fn all_needs(job: &Job) -> impl Iterator<Item = &Spanned<NeedEntry>> {
    let of_rules = job.rules.entries().iter();
    let of_rules = of_rules.filter_map(|rule| rule.needs.as_ref()).flatten();
    job.needs.iter().flatten().chain(of_rules)
}

/// Returns whether a job's needs differ between instances.
pub(super) fn depend_on_matrix(job: &Job) -> bool {
    let refers = need_depends_on_matrix;
    all_needs(job).any(|entry| matches!(&entry.value, NeedEntry::Job(need) if refers(need)))
}

/// Returns whether a need refers to the matrix of the job that has it.
pub(super) fn need_depends_on_matrix(need: &JobNeed) -> bool {
    let combinations = need.matrix.iter().flat_map(|matrix| &matrix.combinations);
    has_values(&need.need.job) || combinations.flatten().any(|(_, value)| has_values(value))
}

/// Returns a need with the values of one instance; unknown names stay unchanged, because the check
/// reports them.
pub(super) fn with_values(need: &JobNeed, values: &[(String, String)]) -> JobNeed {
    let mut need = need.clone();
    if values.is_empty() {
        return need;
    }
    need.need.job = replaced(need.need.job, values);
    if let Some(Matrix { combinations }) = &mut need.matrix {
        for (_, value) in combinations.iter_mut().flatten() {
            *value = replaced(std::mem::take(value), values);
        }
    }
    need
}

fn replaced(text: String, values: &[(String, String)]) -> String {
    match interpolate(&text, values) {
        Ok(std::borrow::Cow::Owned(text)) => text,
        Ok(std::borrow::Cow::Borrowed(_)) | Err(_) => text,
    }
}
