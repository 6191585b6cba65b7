use super::written;
use crate::config::{AllowFailure, Inherited, JobKind, RulesKeyword, Variables};
use crate::rules::Policy;
use executor_core::job::{CrossNeed, JobDefinition, Need, When};
use std::sync::Arc;
use yaml::source::Span;

/// A job that stands on its own, with what decides whether a pipeline has it.
///
/// The siblings that `parallel` makes share all that is the same for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedJob {
    /// What it is and does, before any rule is looked at; without its rules and merged variables,
    /// which only a normalized job has.
    pub definition: Arc<JobDefinition>,
    /// The name it has in the file, without what `parallel` adds.
    pub name_in_file: Arc<str>,
    /// The variables that `parallel:matrix` gives this copy; empty for any other job.
    pub matrix: Arc<[(String, String)]>,
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

impl ResolvedJob {
    /// Returns `definition`, which is this job's or what a rule made of that, with what it lacks: the
    /// rules as they were written, and all variables that the file gives the job. Of those, the job's
    /// win over `shared` ones, and those of the rule over both.
    ///
    /// It is made when it is asked for: ten thousand jobs have much in common, and here each says it
    /// anew.
    pub(crate) fn normalized(
        &self,
        definition: &JobDefinition,
        shared: &[&Variables],
        of_rule: Option<&Variables>,
    ) -> JobDefinition {
        let shared = shared.iter().flat_map(|variables| variables.iter());
        let shared = shared.filter(|(name, _)| self.inherited_variables.includes(name));
        let own = definition.job_variables.iter().flatten();
        let all = shared.chain(own).chain(of_rule.into_iter().flatten());
        let rules = match &self.rules {
            RulesKeyword::Given(rules) => Some(written::rules(rules, &self.rule_needs)),
            RulesKeyword::Absent | RulesKeyword::Null => None,
        };
        JobDefinition {
            rules: rules.map(Arc::new),
            variables: all
                .map(|(name, definition)| (name.clone(), definition.value().to_owned()))
                .collect(),
            ..definition.clone()
        }
    }
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
