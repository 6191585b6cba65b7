//! References to variables in a text, as GitLab's server knows them: `$NAME`, `${NAME}` and `%NAME%`.
//!
//! Names have letters, digits and `_` and do not start with a digit; nothing else of a shell's
//! grammar is known. [`executor_core::variable`] has the runner's grammar, which comes after it.

use executor_core::variable::name_length;
use std::borrow::Cow;

/// Replaces the references in a text, in one pass; those to unknown variables by nothing.
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

/// Replaces the references in a text, in one pass; those to unknown variables stay.
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

/// Returns the names that [`expand_existing`] asks for, in the order of the text.
pub(crate) fn referenced(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    parts(text, Pairs::No, |part| {
        if let Part::Reference { name, .. } = part {
            names.push(name);
        }
    });
    names
}

/// What becomes of references to unknown variables.
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
    // Here a doubled sign is no pair: the second one may start a reference.
    parts(text, Pairs::No, |part| match part {
        Part::Text(text) => replaced.push_str(text),
        Part::Reference { name, text } => match look_up(name) {
            Some(value) => replaced.push_str(value.as_ref()),
            None if unknown == Unknown::Kept => replaced.push_str(text),
            None => {}
        },
    });
    Cow::Owned(replaced)
}

/// Returns the names that the references in a text have; `$$` and `%%` are no references.
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

/// Whether `$$` and `%%` are pairs that stay as they are.
#[derive(Clone, Copy, PartialEq)]
enum Pairs {
    Yes,
    No,
}

/// Splits a value into text and references; `$$` and `%%` are text.
pub(super) fn each_part<'t>(value: &'t str, visit: impl FnMut(Part<'t>)) {
    parts(value, Pairs::Yes, visit);
}

fn parts<'t>(value: &'t str, pairs: Pairs, mut visit: impl FnMut(Part<'t>)) {
    let mut rest = value;
    while let Some(at) = rest.find(['$', '%']) {
        let tail = &rest[at..];
        let (length, name) = reference(tail, pairs);
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

/// Returns how long the reference at the start of `text` is, and its name; without a name, how much
/// is plain text.
fn reference(text: &str, pairs: Pairs) -> (usize, Option<&str>) {
    let name_at = |from: usize| {
        let tail = &text[from..];
        let name = &tail[..name_length(tail)];
        (!name.is_empty()).then_some(name)
    };
    if pairs == Pairs::Yes && (text.starts_with("$$") || text.starts_with("%%")) {
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
    fn what_is_no_reference_stays() {
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
