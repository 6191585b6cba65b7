use std::borrow::Cow;

const OPEN: &str = "$[[";
const CLOSE: &str = "]]";
const CONTEXT: &str = "matrix.";

/// Replaces each `$[[ matrix.NAME ]]` by the instance's value of that name.
///
/// # Errors
///
/// Returns the first name that the matrix does not have.
pub(super) fn interpolate<'t>(
    text: &'t str,
    values: &[(String, String)],
) -> Result<Cow<'t, str>, &'t str> {
    if !has_values(text) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = next(rest) {
        let value = values.iter().find(|(known, _)| known == name);
        out.push_str(before);
        out.push_str(&value.ok_or(name)?.1);
        rest = after;
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// Returns whether a text refers to the matrix.
pub(super) fn has_values(text: &str) -> bool {
    text.contains(OPEN) && next(text).is_some()
}

/// Returns the text before the next reference, its name, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(start) = text[from..].find(OPEN).map(|at| from + at) {
        let inner = start + OPEN.len();
        let end = inner + text[inner..].find(CLOSE)?;
        if let Some(name) = text[inner..end].trim().strip_prefix(CONTEXT) {
            return Some((&text[..start], name, &text[end + CLOSE.len()..]));
        }
        from = inner;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let values = [("OS", "linux"), ("V", "1")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let result = interpolate(text, &values);
        assert_eq!(result.as_deref(), expect.as_deref(), "{text}");
    }

    #[test]
    fn references_to_the_matrix_are_replaced() {
        check("a: [$[[ matrix.OS ]], $[[matrix.V]]]", Ok("a: [linux, 1]"));
        check("$[[ inputs.x ]] $[[ matrix.V ]]", Ok("$[[ inputs.x ]] 1"));
        check("plain", Ok("plain"));
        check("$[[ matrix.OS", Ok("$[[ matrix.OS"));
    }

    #[test]
    fn a_name_the_matrix_does_not_have_is_returned() {
        check("$[[ matrix.NO ]]", Err("NO"));
    }
}
