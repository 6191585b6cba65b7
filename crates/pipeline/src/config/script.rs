use super::reader::{Field, Reader};
use executor_core::job::HooksDefinition;

/// Reads commands: a string, or lists of strings that are flattened.
pub(super) fn read_commands(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let items = reader.flattened(field)?;
    let texts: Option<Vec<String>> = items
        .iter()
        .map(|item| item.as_str().map(ToOwned::to_owned))
        .collect();
    if texts.is_none() {
        let odd = items.iter().find(|item| item.as_str().is_none());
        let field = Field {
            node: odd.unwrap_or(&field.node),
            ..field
        };
        let colon = if field.node.as_mapping().is_some() {
            "; put quotes around a command that holds `: `"
        } else {
            ""
        };
        let words = format!("should be a string or a nested array of strings{colon}");
        reader.refuse(field, words);
    }
    texts
}

/// Reads the commands a job cannot do without.
pub(super) fn read_script(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    read_commands(reader, field)
}

/// Reads `hooks`.
pub(super) fn read_hooks(reader: &mut Reader<'_>, field: Field<'_>) -> HooksDefinition {
    let mut hooks = HooksDefinition::default();
    reader.entries(field, &["pre_get_sources_script"], |reader, _, field| {
        hooks.pre_get_sources_script = read_commands(reader, field);
    });
    hooks
}
