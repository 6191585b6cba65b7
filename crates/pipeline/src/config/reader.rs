use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Span;
use crate::suggest::did_you_mean;
use crate::yaml::{Kind, Mapping, Node};
use std::fmt;

/// How deep lists may be nested where a keyword flattens them.
const DEEPEST_LIST: usize = 10;

/// A value with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The place.
    pub span: Span,
}

/// Where a keyword stands, in GitLab's notation: `jobs:build:artifacts`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'a> {
    pub(super) parent: Option<&'a Path<'a>>,
    pub(super) name: &'a str,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}:")?;
        }
        f.write_str(self.name)
    }
}

/// The value of a keyword and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) node: &'a Node,
    pub(super) path: &'a Path<'a>,
}

/// Reads values and reports those that do not fit.
#[derive(Debug)]
pub(super) struct Reader<'d> {
    pub(super) diagnostics: &'d mut Diagnostics,
}

impl Reader<'_> {
    /// Reports that a value does not fit; `words` go on after "jobs:build:script config".
    pub(super) fn refuse(&mut self, field: Field<'_>, words: impl fmt::Display) {
        let message = format!("{} config {words}", field.path);
        self.diagnostics
            .push(Diagnostic::error("invalid-value", message).at(field.node.span));
    }

    /// Visits the known keys that have a value, and reports the others in one error.
    pub(super) fn entries(
        &mut self,
        field: Field<'_>,
        known: &[&str],
        mut visit: impl FnMut(&mut Self, &str, Field<'_>),
    ) {
        let Some(entries) = self.mapping(field) else {
            return;
        };
        self.check_keys(field, entries, known);
        for (key, entry) in entries {
            if entry.value.is_null() || !known.contains(&key.as_ref()) {
                continue;
            }
            let path = Path {
                parent: Some(field.path),
                name: key,
            };
            let child = Field {
                node: &entry.value,
                path: &path,
            };
            visit(self, key, child);
        }
    }

    /// Reports the keys that are not `known` in one error.
    pub(super) fn check_keys(&mut self, field: Field<'_>, entries: &Mapping, known: &[&str]) {
        let unknown = |key: &&str| !known.contains(key);
        let keys: Vec<&str> = entries.keys().map(AsRef::as_ref).filter(unknown).collect();
        let Some(&first) = keys.first() else {
            return;
        };
        let message = format!(
            "{} config contains unknown keys: {}",
            field.path,
            keys.join(", ")
        );
        self.diagnostics.push(
            Diagnostic::error("unknown-keyword", message)
                .at(entries[first].key_span)
                .with_help(did_you_mean(first, known.iter().copied())),
        );
    }

    pub(super) fn mapping<'n>(&mut self, field: Field<'n>) -> Option<&'n Mapping> {
        let mapping = field.node.as_mapping();
        if mapping.is_none() {
            self.refuse(field, "should be a hash");
        }
        mapping
    }

    pub(super) fn string(&mut self, field: Field<'_>) -> Option<String> {
        let text = field.node.as_str().map(ToOwned::to_owned);
        if text.is_none() {
            let words = format!("should be a string, not {}", field.node.kind_name());
            self.refuse(field, words);
        }
        text
    }

    pub(super) fn boolean(&mut self, field: Field<'_>) -> Option<bool> {
        let Kind::Bool(flag) = field.node.kind else {
            self.refuse(field, "should be a boolean value");
            return None;
        };
        Some(flag)
    }

    /// Reads a flat list of strings.
    pub(super) fn strings(&mut self, field: Field<'_>) -> Option<Vec<String>> {
        let items = field.node.as_sequence().unwrap_or_default();
        let texts = items
            .iter()
            .map(|item| item.as_str().map(ToOwned::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        match texts {
            Some(texts) if field.node.as_sequence().is_some() => Some(texts),
            _ => {
                self.refuse(field, "should be an array of strings");
                None
            }
        }
    }

    /// Reads a string or a flat list of strings.
    pub(super) fn string_or_strings(&mut self, field: Field<'_>) -> Option<Vec<String>> {
        match field.node.as_str() {
            Some(text) => Some(vec![text.to_owned()]),
            None => self.strings(field),
        }
    }

    /// Reads one of a few words.
    pub(super) fn one_of<T: Copy>(&mut self, field: Field<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = field.node.as_str();
        let found = words.iter().find(|(word, _)| Some(*word) == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!(
                "{} config should be one of: {}",
                field.path,
                known.join(", ")
            );
            let help = text.and_then(|text| did_you_mean(text, known));
            self.diagnostics.push(
                Diagnostic::error("invalid-value", message)
                    .at(field.node.span)
                    .with_help(help),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// Reads one whole number or a list of them.
    pub(super) fn integers(&mut self, field: Field<'_>) -> Option<Vec<i32>> {
        let one = std::slice::from_ref(field.node);
        let number = |node: &Node| match node.kind {
            Kind::Int(number) => i32::try_from(number).ok(),
            _ => None,
        };
        let numbers: Option<Vec<i32>> = match field.node.as_sequence() {
            Some(items) => items.iter().map(|item| number(item)).collect(),
            None => one.iter().map(number).collect(),
        };
        if numbers.is_none() {
            self.refuse(field, "should be an integer or an array of integers");
        }
        numbers
    }

    /// Flattens nested lists into their items; reports lists that are nested too deep.
    pub(super) fn flattened<'n>(&mut self, field: Field<'n>) -> Option<Vec<&'n Node>> {
        let mut items = Vec::new();
        if flatten(field.node, 0, &mut items) {
            return Some(items);
        }
        let words = format!("should be nested at most {DEEPEST_LIST} levels deep");
        self.refuse(field, words);
        None
    }
}

fn flatten<'n>(node: &'n Node, depth: usize, items: &mut Vec<&'n Node>) -> bool {
    let Some(list) = node.as_sequence() else {
        items.push(node);
        return true;
    };
    depth < DEEPEST_LIST && list.iter().all(|item| flatten(item, depth + 1, items))
}
