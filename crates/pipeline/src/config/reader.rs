use super::keywords::misplaced;
use super::path::{Part, Path};
use super::rule_list::{RulePlace, RulesKeyword};
use crate::expression::Expressions;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use yaml::diagnostic::{Diagnostic, Diagnostics};
use yaml::source::{Span, clamp};
use yaml::suggest::did_you_mean;
use yaml::{Kind, Mapping, Node};

/// The maximum nesting of lists where a keyword flattens them.
pub(crate) const DEEPEST_LIST: usize = 10;

/// How many unknown keys of one mapping are reported.
const MOST_UNKNOWN: usize = 10;

/// The maximum number of known keys for which an error lists them all.
const MOST_LISTED: usize = 30;

/// The value of a keyword and its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: &'a Path<'a>,
}

/// Reads values and reports invalid ones.
#[derive(Debug)]
pub(crate) struct Reader<'d> {
    pub(crate) diagnostics: &'d mut Diagnostics,
    /// The parsed conditions on variables.
    pub(crate) expressions: Expressions,
    /// The parsed lists of rules, by the address of their node: jobs that extend the same job share
    /// the node, and its mistakes are reported once.
    pub(super) rules: HashMap<(*const Node, RulePlace), RulesKeyword>,
}

impl<'d> Reader<'d> {
    /// Returns a reader that reports to `diagnostics`.
    pub(crate) fn new(diagnostics: &'d mut Diagnostics) -> Self {
        Self {
            diagnostics,
            expressions: Expressions::default(),
            rules: HashMap::new(),
        }
    }

    /// Reports an invalid value; `words` continue a message that starts with "jobs:build:script
    /// config".
    pub(crate) fn refuse(&mut self, field: Field<'_>, words: impl fmt::Display) {
        self.refuse_with_help(field, words, None);
    }

    /// Reports an invalid value, with help.
    pub(crate) fn refuse_with_help(
        &mut self,
        field: Field<'_>,
        words: impl fmt::Display,
        help: Option<String>,
    ) {
        let message = format!("{} {words}", field.path.subject());
        let error = Diagnostic::error("invalid-value", message).at(field.node.span);
        self.diagnostics.push(error.with_help(help));
    }

    /// Reports a mapping that is invalid because of its entry `key`.
    pub(crate) fn refuse_part(&mut self, field: Field<'_>, key: &str, words: impl fmt::Display) {
        self.refuse_part_with_help(field, key, words, None);
    }

    /// Reports a mapping that is invalid because of its entry `key`, with help.
    pub(super) fn refuse_part_with_help(
        &mut self,
        field: Field<'_>,
        key: &str,
        words: impl fmt::Display,
        help: Option<&str>,
    ) {
        let entry = field.node.as_mapping().and_then(|entries| entries.get(key));
        let span = entry.map_or(field.node.span, |entry| entry.key_span);
        let message = format!("{} {words}", field.path.subject());
        let error = Diagnostic::error("invalid-value", message).at(span);
        self.diagnostics
            .push(error.with_help(help.map(ToOwned::to_owned)));
    }

    /// Returns the text of a node as written in its file, with its quotes.
    pub(crate) fn written(&self, node: &Node) -> &str {
        let source = self.diagnostics.sources().file(node.span.file).text();
        source.get(node.span.bytes()).unwrap_or_default()
    }

    /// Returns the location of a part of a text; that of the whole node unless the text is
    /// verbatim on one line of the file.
    pub(crate) fn part_of(&self, node: &Node, text: &str, part: &Range<usize>) -> Span {
        let whole = node.span;
        let written = self.written(node);
        let found = written.find(text).filter(|_| !text.contains('\n'));
        let before = found.and_then(|at| written.get(..at + part.start));
        let (Some(before), Some(covered)) = (before, text.get(part.clone())) else {
            return whole;
        };
        if before.contains('\n') {
            return whole;
        }
        let start = whole.start + clamp(before.len());
        Span {
            column: whole.column + clamp(before.chars().count()),
            start,
            end: (start + clamp(covered.len().max(1))).min(whole.end),
            ..whole
        }
    }

    /// Visits the known keys that have a value, and reports unknown keys in one error.
    pub(crate) fn entries(
        &mut self,
        field: Field<'_>,
        known: &[&str],
        visit: impl FnMut(&mut Self, &str, Field<'_>),
    ) {
        self.visit(field, known, Part::Entry, visit);
    }

    /// Visits the known keys as [`entries`](Self::entries) does, as attributes of the mapping.
    pub(crate) fn attributes(
        &mut self,
        field: Field<'_>,
        known: &[&str],
        visit: impl FnMut(&mut Self, &str, Field<'_>),
    ) {
        self.visit(field, known, Part::Attribute, visit);
    }

    /// Visits one key of a mapping, if it has a value.
    pub(crate) fn entry(
        &mut self,
        field: Field<'_>,
        key: &str,
        visit: impl FnOnce(&mut Self, Field<'_>),
    ) {
        let value = field.node.get(key).filter(|value| !value.is_null());
        if let Some(node) = value {
            let path = field.path.child(key);
            visit(self, Field { node, path: &path });
        }
    }

    /// Visits all keys of a mapping whose keys are names, including those without a value.
    pub(crate) fn each(
        &mut self,
        field: Field<'_>,
        mut visit: impl FnMut(&mut Self, &str, Field<'_>),
    ) -> Option<()> {
        for (name, entry) in self.mapping(field)? {
            let path = field.path.child(name);
            let node = &entry.value;
            visit(self, name, Field { node, path: &path });
        }
        Some(())
    }

    fn visit(
        &mut self,
        field: Field<'_>,
        known: &[&str],
        part: Part,
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
            let path = field.path.part(key, part);
            let child = Field {
                node: &entry.value,
                path: &path,
            };
            visit(self, key, child);
        }
    }

    /// Reports the keys that are not `known` in one error with all their locations.
    pub(crate) fn check_keys(&mut self, field: Field<'_>, entries: &Mapping, known: &[&str]) {
        let is_unknown = |(key, _): &(&str, Span)| !known.contains(key);
        let keys = entries
            .iter()
            .map(|(key, entry)| (key.as_ref(), entry.key_span));
        let keys: Vec<(&str, Span)> = keys.filter(is_unknown).collect();
        let shown = &keys[..keys.len().min(MOST_UNKNOWN)];
        let Some(((_, first), others)) = shown.split_first() else {
            return;
        };
        let mut names: Vec<&str> = shown.iter().map(|(key, _)| *key).collect();
        let more = keys.len() - shown.len();
        let more = (more > 0).then(|| format!("and {more} more"));
        names.extend(more.as_deref());
        let message = format!(
            "{} contains unknown keys: {}",
            field.path.subject(),
            names.join(", ")
        );
        let mut error = Diagnostic::error("unknown-keyword", message).at(*first);
        for (_, span) in others {
            error = error.with_related(*span, "also unknown");
        }
        let few = known.len() <= MOST_LISTED;
        let help = advice(shown, known);
        let help = help.or_else(|| few.then(|| format!("it may have: {}", known.join(", "))));
        self.diagnostics.push(error.with_help(help));
    }

    /// Reports missing keys of a mapping in one error; returns whether all are present.
    pub(crate) fn require(&mut self, field: Field<'_>, needed: &[&str]) -> bool {
        let is_missing = |key: &&str| field.node.get(key).is_none_or(|value| value.is_null());
        let mut missing: Vec<&str> = needed.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            return true;
        }
        // A mistyped key is reported as an unknown one.
        missing.retain(|key| !is_mistyped(field.node, key, needed));
        if missing.is_empty() {
            return false;
        }
        let help = format!("add {}", quoted(&missing));
        let words = format!("missing required keys: {}", missing.join(", "));
        self.refuse_with_help(field, words, Some(help));
        false
    }

    /// Reports keys of a mapping that exclude each other.
    pub(crate) fn exclude(&mut self, field: Field<'_>, keys: &[&str]) {
        let is_given = |key: &&str| field.node.get(key).is_some_and(|value| !value.is_null());
        let given: Vec<&str> = keys.iter().copied().filter(is_given).collect();
        if given.len() > 1 {
            let words = format!("these keys cannot be used together: {}", given.join(", "));
            let help = format!("keep one of {}", quoted(&given));
            self.refuse_with_help(field, words, Some(help));
        }
    }

    /// Reads a string that is not blank.
    pub(crate) fn text(&mut self, field: Field<'_>) -> Option<String> {
        let text = self.string(field)?;
        if text.trim().is_empty() {
            self.refuse(field, "can't be blank");
            return None;
        }
        Some(text)
    }

    pub(crate) fn mapping<'n>(&mut self, field: Field<'n>) -> Option<&'n Mapping> {
        let mapping = field.node.as_mapping();
        if mapping.is_none() {
            self.refuse(field, "should be a hash");
        }
        mapping
    }

    pub(crate) fn string(&mut self, field: Field<'_>) -> Option<String> {
        let text = field.node.as_str().map(ToOwned::to_owned);
        if text.is_none() {
            let words = format!("should be a string, not {}", field.node.kind_name());
            self.refuse_with_help(field, words, string_help(field.node));
        }
        text
    }

    pub(crate) fn boolean(&mut self, field: Field<'_>) -> Option<bool> {
        let Kind::Bool(flag) = field.node.kind else {
            self.refuse_with_help(field, "should be a boolean value", quotes_help(field.node));
            return None;
        };
        Some(flag)
    }

    /// Reads a flat list of strings.
    pub(crate) fn strings(&mut self, field: Field<'_>) -> Option<Vec<String>> {
        self.strings_or(field, "should be an array of strings")
    }

    /// Reads a flat list of strings; reports anything else with `words`, at the wrong item if there
    /// is one.
    pub(crate) fn strings_or(&mut self, field: Field<'_>, words: &str) -> Option<Vec<String>> {
        let Some(items) = field.node.as_sequence() else {
            self.refuse_with_help(field, words, list_help(field.node));
            return None;
        };
        let texts = items
            .iter()
            .map(|item| item.as_str().map(ToOwned::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        if texts.is_none() {
            let odd = items.iter().find(|item| item.as_str().is_none());
            let node = odd.map_or(field.node, AsRef::as_ref);
            self.refuse_with_help(Field { node, ..field }, words, string_help(node));
        }
        texts
    }

    /// Reads the words of a command.
    pub(crate) fn command(&mut self, field: Field<'_>) -> Option<Vec<String>> {
        let Some(text) = field.node.as_str() else {
            return self.strings(field);
        };
        let help = if text.contains(['"', '\'']) {
            "write a list of its words, as in `[sh, -c]`".to_owned()
        } else {
            let words: Vec<&str> = text.split_whitespace().collect();
            format!("write `[{}]`", words.join(", "))
        };
        self.refuse_with_help(field, "should be an array of strings", Some(help));
        None
    }

    /// Reads a string or a flat list of strings.
    pub(crate) fn string_or_strings(&mut self, field: Field<'_>) -> Option<Vec<String>> {
        match field.node.as_str() {
            Some(text) => Some(vec![text.to_owned()]),
            None => self.strings_or(field, "should be an array of strings or a string"),
        }
    }

    /// Reads one of a few words.
    pub(crate) fn one_of<T: Copy>(&mut self, field: Field<'_>, words: &[(&str, T)]) -> Option<T> {
        let text = field.node.as_str();
        let found = words.iter().find(|(word, _)| Some(*word) == text);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!(
                "{} should be one of: {}",
                field.path.subject(),
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

    /// Reads an integer or a list of integers.
    pub(crate) fn integers(&mut self, field: Field<'_>) -> Option<Vec<i32>> {
        let one = std::slice::from_ref(field.node);
        let number = |node: &Node| match node.kind {
            Kind::Int(number) => i32::try_from(number.value()).ok(),
            _ => None,
        };
        let numbers: Option<Vec<i32>> = match field.node.as_sequence() {
            Some(items) => items.iter().map(|item| number(item)).collect(),
            None => one.iter().map(number).collect(),
        };
        if numbers.is_none() {
            let words = "should be an integer or an array of integers";
            self.refuse_with_help(field, words, quotes_help(field.node));
        }
        numbers
    }

    /// Flattens nested lists into their items; reports lists that are nested too deep.
    pub(crate) fn flattened<'n>(&mut self, field: Field<'n>) -> Option<Vec<&'n Node>> {
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

/// Returns help for a value that should be a string.
pub(crate) fn string_help(node: &Node) -> Option<String> {
    match node.kind {
        Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) => {
            let text = node.to_scalar_text()?;
            Some(format!("put quotes around it: `\"{text}\"`"))
        }
        Kind::Mapping(_) => Some("put quotes around a text that contains `: `".to_owned()),
        Kind::Sequence(_) => Some("nested lists are not flattened here".to_owned()),
        _ => None,
    }
}

/// Returns help for a string that should be a number or a boolean.
pub(super) fn quotes_help(node: &Node) -> Option<String> {
    let text = node.as_str()?;
    let is_quoted = matches!(text, "true" | "false" | "yes" | "no") || text.parse::<i64>().is_ok();
    is_quoted.then(|| "remove the quotes".to_owned())
}

/// Returns help for a string that should be a list.
pub(super) fn list_help(node: &Node) -> Option<String> {
    node.as_str().map(|text| format!("write `[{text}]`"))
}

/// Returns where unknown keys belong, or similar known ones; one line for each key.
fn advice(unknown: &[(&str, Span)], known: &[&str]) -> Option<String> {
    let of_key = |key: &str| {
        let place = misplaced(key, known);
        place.or_else(|| did_you_mean(key, known.iter().copied()))
    };
    if let [(key, _)] = unknown {
        return of_key(key);
    }
    let line = |key: &str| {
        let words = of_key(key)?;
        let named = words.starts_with(&format!("`{key}`"));
        Some(if named {
            words
        } else {
            format!("`{key}`: {words}")
        })
    };
    let lines: Vec<String> = unknown.iter().filter_map(|(key, _)| line(key)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns whether a mapping has an unknown key similar to a needed one.
fn is_mistyped(node: &Node, key: &str, needed: &[&str]) -> bool {
    let mut keys = node.as_mapping().into_iter().flatten().map(|(key, _)| key);
    keys.any(|given| !needed.contains(&given.as_ref()) && did_you_mean(given, [key]).is_some())
}

/// Returns keys as a list: `` `a:`, `b:` ``.
fn quoted(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}:`")).collect();
    quoted.join(", ")
}
