use super::{Limits, Node, load};
use crate::diagnostic::{Checked, Diagnostics};
use std::sync::Arc;

/// Loads a YAML file of values, such as variables; messages call it `name`. A file without any
/// value is null.
///
/// Values may be secrets, so no diagnostic shows one.
pub fn load_values(name: &str, text: &str) -> Checked<Arc<Node>> {
    let text = values_or_null(text);
    let (mut diagnostics, file) = Diagnostics::of_private_file(name, text);
    let loaded = load(file, &Limits::default(), &mut diagnostics);
    diagnostics.reword(|diagnostic| {
        if let Some((message, help)) = without_value(diagnostic.code) {
            message.clone_into(&mut diagnostic.message);
            diagnostic.help = Some(help.to_owned());
        }
    });
    Checked {
        value: loaded.map(|loaded| loaded.content),
        diagnostics,
    }
}

/// Returns the text of a file of values; null if it is empty or contains only comments.
pub fn values_or_null(text: &str) -> &str {
    let has_value = text.lines().map(str::trim).any(|line| {
        let is_remark = line.is_empty() || line.starts_with('#') || line == "---";
        !is_remark
    });
    if has_value { text } else { "~" }
}

/// Returns a message and help without the value, for codes whose message quotes it.
fn without_value(code: &str) -> Option<(&'static str, &'static str)> {
    Some(match code {
        "unknown-alias" => (
            "unknown alias",
            "put a value that begins with `*` in quotes",
        ),
        "unknown-tag" => (
            "a tag is ignored",
            "put a value that begins with `!` in quotes",
        ),
        "yaml-class" => (
            "a tag asks for a class",
            "put a value that begins with `!` in quotes",
        ),
        "yaml-date" => ("a date is not a valid value", "put it in quotes"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Severity;

    #[test]
    fn a_file_without_values_is_valid() {
        for text in ["", "\n# later\n", "---\n"] {
            let (node, _) = load_values("v.yml", text).into_result().expect("no errors");
            assert!(node.is_null(), "{text:?}");
        }
        let (node, _) = load_values("v.yml", "A: yes").into_result().expect("read");
        assert_eq!(
            node.get("A").and_then(|it| it.to_scalar_text()).as_deref(),
            Some("true")
        );
        assert!(load_values("v.yml", "A: [").diagnostics.has_errors());
    }

    #[test]
    fn no_diagnostic_shows_a_value() {
        for value in [
            "*s3cret",
            "!s3cret",
            "!ruby/object:s3cret",
            "2031-07-13",
            "[s3cret",
            "s3cret: x: y",
        ] {
            let found = load_values("v.yml", &format!("A: {value}\n")).diagnostics;
            let shown = found.to_string();
            assert!(shown.contains("v.yml:"), "{shown}");
            let records = format!("{:?}", found.records(Severity::Error));
            for text in [shown, records] {
                assert!(!text.contains("s3cret") && !text.contains("2031"), "{text}");
            }
        }
    }
}
