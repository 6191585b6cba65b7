use super::reader::{DEEPEST_LIST, Field, Reader, string_help};

/// Reads commands: a string, or nested lists of strings.
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
        let words = format!(
            "should be a string or a nested array of strings up to {DEEPEST_LIST} levels deep"
        );
        reader.refuse_with_help(field, words, string_help(field.node));
    }
    texts
}

/// Reads the commands of `script`, which cannot be blank.
pub(super) fn read_script(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    if field.node.is_blank() {
        reader.refuse(field, "can't be blank");
        return None;
    }
    read_commands(reader, field)
}
