use super::auto_cancel;
use super::reader::{Field, Reader, Spanned};
use super::rules::{RulePlace, RulesKeyword, read_rules};
use crate::rules::AutoCancel;

/// How long the name of a pipeline may be, in characters.
const LONGEST_NAME: usize = 255;

/// `workflow`: when there is a pipeline, what it is called and what cancels it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Workflow {
    /// The pipeline's name, without blanks around it; variables in it are not replaced yet.
    pub name: Option<Spanned<String>>,
    /// The rules of which the first that holds decides.
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
        workflow.auto_cancel = auto_cancel::read(reader, field).unwrap_or_default();
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
