use super::reader::{Field, Reader};
use super::rule;
use crate::rules::Rule;
use std::sync::Arc;
use yaml::Kind;

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
    Given(Arc<[Rule]>),
}

impl RulesKeyword {
    /// Returns whether the keyword is present, with or without a value.
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

/// Reads `rules`; invalid entries are reported and left out.
pub(crate) fn read_rules(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    place: RulePlace,
) -> RulesKeyword {
    match &field.node.kind {
        Kind::Null => return RulesKeyword::Null,
        Kind::Sequence(items) if !items.is_empty() => {}
        Kind::Sequence(_) => {
            reader.refuse(field, "can't be blank");
            return RulesKeyword::Null;
        }
        _ => {
            let help = field.node.as_mapping().is_some();
            let help = help.then(|| "put `- ` before its first key, to make it a list".to_owned());
            reader.refuse_with_help(field, "should be an array of hashes", help);
            return RulesKeyword::Null;
        }
    }
    let known = (std::ptr::from_ref(field.node), place);
    if let Some(rules) = reader.rules.get(&known) {
        return rules.clone();
    }
    let path = field.path.child("rule");
    let items = reader.flattened(field).unwrap_or_default();
    let mut rules = Vec::with_capacity(items.len());
    for node in items {
        rules.extend(rule::read(reader, Field { node, path: &path }, place));
    }
    let rules = RulesKeyword::Given(rules.into());
    reader.rules.insert(known, rules.clone());
    rules
}
