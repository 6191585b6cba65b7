use super::limits::{Stop, refuse, warn};
use super::node::{Kind, Node};
use super::syntax::Tag;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::sync::Arc;

/// The meaning of a tag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tagged {
    /// There is no tag.
    None,
    Text,
    Reference,
    /// An ignored tag.
    Other,
}

impl Tagged {
    pub(super) fn of(tag: Option<&Tag<'_>>, span: Span, collected: &mut Vec<Diagnostic>) -> Self {
        let Some(tag) = tag else {
            return Self::None;
        };
        match (tag.prefix.as_ref(), tag.suffix.as_ref()) {
            ("!", "reference") => Self::Reference,
            ("tag:yaml.org,2002:", "str")
            | ("", "tag:yaml.org,2002:str")
            | ("!", "str" | "ruby/string" | "ruby/sym" | "ruby/symbol") => Self::Text,
            ("", "!")
            | ("tag:yaml.org,2002:", "int" | "float" | "bool" | "null" | "seq" | "map") => {
                Self::Other
            }
            (prefix, suffix) if asks_for_class(prefix, suffix) => {
                refuse(collected, || {
                    let message = format!(
                        "the tag `{prefix}{suffix}` asks for an unspecified class, which GitLab \
                         refuses"
                    );
                    Diagnostic::error("yaml-class", message).at(span)
                });
                Self::Other
            }
            (prefix, suffix) => {
                warn(collected, || {
                    let message = format!("the tag `{prefix}{suffix}` is ignored");
                    Diagnostic::warning("unknown-tag", message).at(span)
                });
                Self::Other
            }
        }
    }
}

/// Returns whether a tag asks for an object of a class; GitLab's loader ignores other unknown tags.
fn asks_for_class(prefix: &str, suffix: &str) -> bool {
    const CLASSES: [&str; 7] = [
        "object",
        "struct",
        "exception",
        "regexp",
        "range",
        "class",
        "module",
    ];
    let class = suffix.strip_prefix("ruby/").filter(|_| prefix == "!");
    let class = class.map(|class| class.split(':').next().unwrap_or_default());
    class.is_some_and(|class| CLASSES.contains(&class))
        || (prefix, suffix) == ("tag:yaml.org,2002:", "set")
}

/// Returns the reference of a tagged list.
pub(super) fn reference(items: &[Arc<Node>], span: Span) -> Result<Kind, Stop> {
    let path: Option<Vec<Arc<str>>> = items
        .iter()
        .map(|item| match &item.kind {
            Kind::String(text) => Some(Arc::clone(text)),
            _ => None,
        })
        .collect();
    match path {
        Some(path) if !path.is_empty() => Ok(Kind::Reference(path)),
        _ => Err(invalid_reference(span).into()),
    }
}

pub(super) fn invalid_reference(span: Span) -> Diagnostic {
    let message = "`!reference` needs a list of keys, for example `!reference [.setup, script]`";
    Diagnostic::error("invalid-reference", message).at(span)
}
