//! References to variables in a text, in the syntax of GitLab's server: `$NAME`, `${NAME}` and
//! `%NAME%`.
//!
//! Names consist of letters, digits and `_` and do not start with a digit; other shell syntax is
//! not supported. [`executor_core::variable`] has the runner's syntax, which is applied later.

use executor_core::variable::name_length;
use std::borrow::Cow;

/// Expands the references in a text, in one pass; unknown variables become empty.
///
/// # Examples
///
/// ```
/// use pipeline::context::expand;
///
/// let look_up = |name: &str| (name == "A").then_some("1");
/// assert_eq!(expand("$A-${A}-%A%-$B.", look_up), "1-1-1-.");
/// ```
pub fn expand<V: AsRef<str>>(text: &str, look_up: impl Fn(&str) -> Option<V>) -> Cow<'_, str> {
    replace(text, Unknown::Removed, look_up)
}

/// Expands the references in a text, in one pass; those to unknown variables stay.
///
/// # Examples
///
/// ```
/// use pipeline::context::expand_existing;
///
/// let look_up = |name: &str| (name == "A").then_some("1");
/// assert_eq!(expand_existing("$A-$B", look_up), "1-$B");
/// ```
pub fn expand_existing<V: AsRef<str>>(
    text: &str,
    look_up: impl Fn(&str) -> Option<V>,
) -> Cow<'_, str> {
    replace(text, Unknown::Kept, look_up)
}

/// Returns the names that [`expand_existing`] looks up, in text order.
pub(crate) fn referenced(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    parts(text, Escapes::No, |part| {
        if let Part::Reference { name, .. } = part {
            names.push(name);
        }
    });
    names
}

/// The treatment of references to unknown variables.
#[derive(Clone, Copy, PartialEq)]
enum Unknown {
    Removed,
    Kept,
}

fn replace<V: AsRef<str>>(
    text: &str,
    unknown: Unknown,
    look_up: impl Fn(&str) -> Option<V>,
) -> Cow<'_, str> {
    if !text.contains(['$', '%']) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    // Here `$$` is not an escape: the second sign may start a reference.
    parts(text, Escapes::No, |part| match part {
        Part::Text(text) => replaced.push_str(text),
        Part::Reference { name, text } => match look_up(name) {
            Some(value) => replaced.push_str(value.as_ref()),
            None if unknown == Unknown::Kept => replaced.push_str(text),
            None => {}
        },
    });
    Cow::Owned(replaced)
}

/// Returns the names of the references in a text; `$$` and `%%` are escapes.
pub(crate) fn references(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    each_part(text, |part| {
        if let Part::Reference { name, .. } = part {
            names.push(name.to_owned());
        }
    });
    names
}

/// A piece of a text.
pub(super) enum Part<'t> {
    Text(&'t str),
    Reference { name: &'t str, text: &'t str },
}

/// Whether `$$` and `%%` are escapes that stay unchanged.
#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    Yes,
    No,
}

/// Splits a value into text and references; `$$` and `%%` are text.
pub(super) fn each_part<'t>(value: &'t str, visit: impl FnMut(Part<'t>)) {
    parts(value, Escapes::Yes, visit);
}

fn parts<'t>(value: &'t str, escapes: Escapes, mut visit: impl FnMut(Part<'t>)) {
    let mut rest = value;
    while let Some(at) = rest.find(['$', '%']) {
        let tail = &rest[at..];
        let (length, name) = reference(tail, escapes);
        match name {
            Some(name) => {
                visit(Part::Text(&rest[..at]));
                let text = &tail[..length];
                visit(Part::Reference { name, text });
            }
            None => visit(Part::Text(&rest[..at + length])),
        }
        rest = &tail[length..];
    }
    visit(Part::Text(rest));
}

/// Returns the length and name of the reference at the start of `text`; without a name, the length
/// is that of plain text.
fn reference(text: &str, escapes: Escapes) -> (usize, Option<&str>) {
    let name_at = |from: usize| {
        let tail = &text[from..];
        let name = &tail[..name_length(tail)];
        (!name.is_empty()).then_some(name)
    };
    if escapes == Escapes::Yes && (text.starts_with("$$") || text.starts_with("%%")) {
        return (2, None);
    }
    if text.starts_with('%') {
        let name = name_at(1).filter(|name| text[1 + name.len()..].starts_with('%'));
        return (name.map_or(1, |name| name.len() + 2), name);
    }
    if text.starts_with("${") {
        let name = name_at(2).filter(|name| text[2 + name.len()..].starts_with('}'));
        return (name.map_or(1, |name| name.len() + 3), name);
    }
    let name = name_at(1);
    (name.map_or(1, |name| name.len() + 1), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str, expect_existing: &str) {
        let look_up = |name: &str| match name {
            "A" => Some("<a>"),
            "E" => Some(""),
            "R" => Some("$A"),
            _ => None,
        };
        assert_eq!(expand(text, look_up), expect, "of {text:?}");
        assert_eq!(
            expand_existing(text, look_up),
            expect_existing,
            "of {text:?}"
        );
    }

    #[test]
    fn references_are_replaced_once() {
        check("$A${A}%A%", "<a><a><a>", "<a><a><a>");
        check("$R $E.", "$A .", "$A .");
        check("$N ${N} %N%", "  ", "$N ${N} %N%");
        check("$AB", "", "$AB");
    }

    #[test]
    fn malformed_references_stay() {
        for text in [
            "",
            "${A",
            "${A:-d}",
            "$(cmd) $1 $",
            "100% sure",
            "% A %",
            "${}",
        ] {
            check(text, text, text);
        }
        check("$$A %%A%", "$<a> %<a>", "$<a> %<a>");
    }
}
