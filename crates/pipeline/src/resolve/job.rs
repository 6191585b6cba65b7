use crate::config::{AllowFailure, Inherited, JobKind, RulesKeyword};
use crate::rules::Policy;
use crate::source::Span;
use executor_core::job::{CrossNeed, JobDefinition, Need, When};
use std::sync::Arc;

/// A job that stands on its own, with what decides whether a pipeline has it.
///
/// The siblings that `parallel` makes share all that is the same for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedJob {
    /// What it is and does, before any rule is looked at.
    pub definition: Arc<JobDefinition>,
    /// The name it has in the file, without what `parallel` adds.
    pub name_in_file: Arc<str>,
    /// Where that name stands; absent for a job that was not read from a file.
    pub span: Option<Span>,
    /// What it does its work with.
    pub kind: JobKind,
    /// Its rules.
    pub rules: RulesKeyword,
    /// The needs of its rules by their places, with the expanded names; a rule without needs has
    /// none, and the list is empty when no rule has any.
    pub rule_needs: Arc<[Option<ResolvedNeeds>]>,
    /// Its `only`; the default of GitLab where the file gives none and has no rules.
    pub only: Option<Arc<Policy>>,
    /// Its `except`.
    pub except: Option<Arc<Policy>>,
    /// `when` as it was given.
    pub when: Option<When>,
    /// `allow_failure` as it was given.
    pub allow_failure: Option<AllowFailure>,
    /// Which variables of the file and of its workflow it takes.
    pub inherited_variables: Inherited,
}

/// The needs of one rule, as `needs` and `needs_cross` of a definition are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedNeeds {
    /// The jobs of this pipeline.
    pub needs: Vec<Need>,
    /// The jobs elsewhere.
    pub cross: Vec<CrossNeed>,
}

impl From<JobDefinition> for ResolvedJob {
    /// Returns a job that is in every pipeline.
    fn from(definition: JobDefinition) -> Self {
        Self {
            name_in_file: definition.name.as_str().into(),
            rules: RulesKeyword::Null,
            when: Some(definition.when),
            allow_failure: Some(AllowFailure::Flag(definition.allow_failure)),
            definition: Arc::new(definition),
            ..Self::default()
        }
    }
}
