use super::{ResolvedNeeds, written};
use crate::config::{AllowFailure, Inherited, JobKind, RulesKeyword, Variables};
use crate::rules::Policy;
use executor_core::job::{JobDefinition, When};
use std::sync::Arc;
use yaml::source::Span;

/// A job with nothing left to inherit, and its conditions.
///
/// The instances of a `parallel` job share their common parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedJob {
    /// Its definition before rules are evaluated, without its rules and merged variables, which
    /// only a normalized job has.
    pub definition: Arc<JobDefinition>,
    /// Its name in the file, without the suffix from `parallel`.
    pub name_in_file: Arc<str>,
    /// Its variables from `parallel:matrix`; empty for any other job.
    pub matrix: Arc<[(String, String)]>,
    /// The location of that name; absent for a job that was not read from a file.
    pub span: Option<Span>,
    /// What it runs.
    pub kind: JobKind,
    /// Its rules.
    pub rules: RulesKeyword,
    /// The needs of its rules by index, with expanded names; empty when no rule has needs.
    pub rule_needs: Arc<[Option<ResolvedNeeds>]>,
    /// Its `only`, or GitLab's default.
    pub only: Option<Arc<Policy>>,
    /// Its `except`.
    pub except: Option<Arc<Policy>>,
    /// `when` as written.
    pub when: Option<When>,
    /// `allow_failure` as written.
    pub allow_failure: Option<AllowFailure>,
    /// The variables of the file and of its workflow that it inherits.
    pub inherited_variables: Inherited,
}

impl ResolvedJob {
    /// Returns the needs of the rule with this index, if they replace those of the job.
    ///
    /// An empty list keeps the job's own needs, as in GitLab, contrary to its documentation.
    pub(crate) fn needs_of_rule(&self, at: usize) -> Option<&ResolvedNeeds> {
        let needs = self.rule_needs.get(at)?.as_ref();
        needs.filter(|found| !found.needs.is_empty() || !found.cross.is_empty())
    }

    /// Completes `definition`, which is this job's or the one a rule changed, with the rules as
    /// written and all variables of the file. The job's variables override `shared` ones, and those
    /// of the rule override both.
    ///
    /// It is built on demand, because it copies what ten thousand jobs may share.
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
            RulesKeyword::List(rules) => Some(written::rules(rules, &self.rule_needs)),
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
    /// Returns a job without conditions.
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
