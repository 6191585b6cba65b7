use crate::rules::Rule;
use std::sync::Arc;

/// `rules` of a job or of `workflow`.
///
/// The three differ: without the keyword a job has the default `only`, with an empty one it has
/// neither that nor rules, and is always in the pipeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RulesKeyword {
    /// The keyword is not there.
    #[default]
    Absent,
    /// The keyword is there without a value.
    Null,
    /// The entries in their order, nested lists flattened.
    Given(Arc<[Rule]>),
}

impl RulesKeyword {
    /// Returns whether the keyword is there, with or without a value.
    pub fn is_given(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Returns the entries; none when there is no list.
    pub fn entries(&self) -> &[Rule] {
        match self {
            Self::Given(rules) => rules,
            Self::Absent | Self::Null => &[],
        }
    }
}
