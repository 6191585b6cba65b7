use super::Spanned;
use super::reader::{Field, Reader};
use super::rule::{read_auto_cancel, read_rules};
use super::rule_list::{RulePlace, RulesKeyword};
use crate::rules::AutoCancel;

/// The maximum length of a pipeline's name, in characters.
const LONGEST_NAME: usize = 255;

/// `workflow`: conditions on the pipeline, its name and its cancellation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workflow {
    /// The pipeline's name, trimmed; its variables are not expanded yet.
    pub name: Option<Spanned<String>>,
    /// The rules; the first that matches decides.
    pub rules: RulesKeyword,
    /// What is cancelled, and when.
    pub auto_cancel: AutoCancel,
}

/// Reads `workflow`.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Workflow {
    let mut workflow = Workflow::default();
    if field.node.get("rules").is_some() {
        workflow.rules = RulesKeyword::Null;
    }
    let known = ["name", "rules", "auto_cancel"];
    reader.attributes(field, &known, |reader, key, field| {
        if key == "name" {
            workflow.name = read_name(reader, field);
        }
    });
    reader.entry(field, "rules", |reader, field| {
        workflow.rules = read_rules(reader, field, RulePlace::Workflow);
    });
    reader.entry(field, "auto_cancel", |reader, field| {
        workflow.auto_cancel = read_auto_cancel(reader, field).unwrap_or_default();
    });
    workflow
}

fn read_name(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Spanned<String>> {
    let name = reader.string(field)?;
    let name = name.trim();
    if name.chars().count() > LONGEST_NAME {
        let words = format!("is too long (the maximum is {LONGEST_NAME} characters)");
        reader.refuse(field, words);
        return None;
    }
    let name = (!name.is_empty()).then(|| name.to_owned());
    name.map(|value| Spanned {
        value,
        span: field.node.span,
    })
}
