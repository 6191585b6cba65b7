use super::reader::{Field, Reader};
use crate::pattern::Pattern;

/// Reads `coverage`: the pattern that finds the coverage in the log, without its slashes.
pub(super) fn read(reader: &mut Reader<'_>, field: Field<'_>) -> Option<String> {
    let text = reader.string(field)?;
    let within = |text: &str| -> Option<String> {
        let pattern = text.strip_prefix('/')?.strip_suffix('/')?;
        (!pattern.is_empty()).then(|| pattern.to_owned())
    };
    let Some(pattern) = within(&text) else {
        let help = format!("write `/{}/`", text.trim_matches('/'));
        let words = "must be a regular expression between slashes";
        reader.refuse_with_help(field, words, Some(help));
        return None;
    };
    if let Err(error) = Pattern::new(&pattern, "") {
        let words = "must be a regular expression of RE2";
        reader.refuse_with_help(field, words, Some(error.to_string()));
        return None;
    }
    Some(pattern)
}
