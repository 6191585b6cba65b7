use super::reader::{Field, Reader};
use super::rule;
use super::rule_list::{RulePlace, RulesKeyword};
use yaml::Kind;

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
