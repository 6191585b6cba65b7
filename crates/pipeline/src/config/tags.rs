use super::reader::{Field, Reader};
use std::collections::HashSet;

/// How many different tags are one too many.
const TOO_MANY: usize = 50;

/// Reads `tags`, a flat list.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<Vec<String>> {
    let tags = reader.strings(field)?;
    let different: HashSet<&String> = tags.iter().collect();
    if different.len() >= TOO_MANY {
        let words = format!("must be less than the limit of {TOO_MANY} tags");
        reader.refuse(field, words);
        return None;
    }
    Some(tags)
}
