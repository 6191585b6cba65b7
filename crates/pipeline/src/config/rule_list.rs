use crate::rules::Rule;
use std::sync::Arc;

/// `rules` of a job or of `workflow`.
///
/// The first two differ: without the keyword a job has the default `only`; with an empty one it has
/// neither that nor rules, and is always in the pipeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RulesKeyword {
    /// The keyword is absent.
    #[default]
    Absent,
    /// The keyword has no value.
    Null,
    /// The entries in order, nested lists flattened.
    List(Arc<[Rule]>),
}

impl RulesKeyword {
    /// Returns whether the keyword is present, with or without a value.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Returns the entries; none when there is no list.
    pub fn entries(&self) -> &[Rule] {
        match self {
            Self::List(rules) => rules,
            Self::Absent | Self::Null => &[],
        }
    }
}

/// The owner of a list of rules, which decides which keys its entries may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RulePlace {
    /// A job.
    Job,
    /// The `workflow`.
    Workflow,
    /// An entry of `include`.
    Include,
}
