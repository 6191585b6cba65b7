//! Every key of GitLab Runner's `config.toml` outside the executors' tables, and its effect here.
//!
//! The reader, the explanations of `lint-config` and the guide's key table use this one table.

mod cache;
mod executors;
mod flags;
mod global;
mod markdown;
mod runners;

pub(super) use executors::{refused_executor, refused_executors};
pub(super) use flags::FLAGS;
pub use markdown::key_table_markdown;

/// The keys of one table.
#[derive(Debug)]
pub(super) struct KeyGroup {
    /// The table's path with dots; empty for the keys above all tables.
    pub(super) table: &'static str,
    /// Its keys.
    pub(super) keys: &'static [KeySpec],
}

/// One key.
#[derive(Debug)]
pub(super) struct KeySpec {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    /// The default here, as the guide shows it; empty for none.
    pub(super) default: &'static str,
    pub(super) effect: KeyEffect,
    /// What a supported key does, or why another one does nothing or is refused.
    pub(super) text: &'static str,
    /// How a supported key differs from GitLab Runner's; empty if it does not.
    pub(super) difference: &'static str,
}

/// Whether a key is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyEffect {
    /// As in GitLab Runner, or with a difference that the text names.
    Supported,
    /// None.
    NoEffect,
    /// The file cannot be used with it.
    Refused,
    /// The file cannot be used when it is `false`.
    RefusedIfFalse,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Bool,
    Integer,
    /// A number of bytes, which may be a large one.
    Bytes,
    /// A number of seconds, or a duration as Go writes it.
    Seconds,
    /// A duration as Go writes it.
    Duration,
    Text,
    Time,
    TextList,
    NumberList,
    /// Names with texts.
    TextMap,
    /// Names with booleans.
    BoolMap,
    Anything,
}

impl ValueKind {
    /// Returns a description for messages.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Integer | Self::Bytes => "a whole number",
            Self::Seconds => "a number of seconds or a duration such as \"1h30m\"",
            Self::Duration => "a duration such as \"1h30m\"",
            Self::Text => "a text",
            Self::Time => "a date and time such as 2026-01-31T08:00:00Z",
            Self::TextList => "a list of texts",
            Self::NumberList => "a list of numbers",
            Self::TextMap => "a table of texts",
            Self::BoolMap => "a table of true and false",
            Self::Anything => "a value",
        }
    }
}

impl KeySpec {
    const fn supported(
        name: &'static str,
        kind: ValueKind,
        default: &'static str,
        text: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            effect: KeyEffect::Supported,
            text,
            difference: "",
        }
    }

    const fn no_effect(name: &'static str, kind: ValueKind, text: &'static str) -> Self {
        Self::with_effect(name, kind, KeyEffect::NoEffect, text)
    }

    const fn refused(name: &'static str, kind: ValueKind, text: &'static str) -> Self {
        Self::with_effect(name, kind, KeyEffect::Refused, text)
    }

    const fn with_effect(
        name: &'static str,
        kind: ValueKind,
        effect: KeyEffect,
        text: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default: "",
            effect,
            text,
            difference: "",
        }
    }

    /// Adds how the key differs from GitLab Runner's.
    const fn differs(mut self, difference: &'static str) -> Self {
        self.difference = difference;
        self
    }
}

/// Tables that a file may have several times, as `[[NAME]]`.
pub(super) const LISTS: [&str; 2] = ["runners", "runners.monitoring.job_queuing_durations"];

/// All tables with their keys, in the order of the guide.
pub(super) fn groups() -> impl Iterator<Item = &'static KeyGroup> + Clone {
    global::GROUPS
        .iter()
        .chain(runners::GROUPS)
        .chain(cache::GROUPS)
}

/// Returns a key of a table.
pub(super) fn find(table: &str, name: &str) -> Option<&'static KeySpec> {
    keys_of(table).find(|key| key.name == name)
}

/// Returns the keys of a table.
pub(super) fn keys_of(table: &str) -> impl Iterator<Item = &'static KeySpec> {
    groups()
        .filter(move |group| group.table == table)
        .flat_map(|group| group.keys)
}

/// Returns whether `path` is a table, with keys or with tables in it.
pub(super) fn is_table(path: &str) -> bool {
    let has = |table: &str| {
        let rest = table.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    groups().any(|group| has(group.table))
}

/// Returns the names of the tables directly below `path`.
pub(super) fn tables_below(path: &str) -> impl Iterator<Item = &'static str> {
    groups().filter_map(move |group| {
        let rest = match path {
            "" => group.table,
            path => group.table.strip_prefix(path)?.strip_prefix('.')?,
        };
        let name = rest.split('.').next()?;
        (!name.is_empty()).then_some(name)
    })
}

/// Returns the table that has a key of this name, if exactly one has.
pub(super) fn table_with(name: &str) -> Option<&'static str> {
    let mut tables = groups().filter(|group| group.keys.iter().any(|key| key.name == name));
    let first = tables.next()?;
    tables.next().is_none().then_some(first.table)
}

/// Returns a table's path as a file writes it: `[[runners]]`, `[runners.cache]`.
pub(super) fn header(table: &str) -> String {
    if LISTS.contains(&table) {
        format!("[[{table}]]")
    } else {
        format!("[{table}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_keys_are_found() {
        assert!(find("", "concurrent").is_some());
        assert!(find("runners", "concurrent").is_none());
        assert!(is_table("runners.cache.s3"));
        assert!(is_table("experimental"));
        assert!(!is_table("runner"));
        assert!(tables_below("runners.cache").any(|it| it == "gcs"));
        assert!(tables_below("").any(|it| it == "session_server"));
        assert_eq!(table_with("request_concurrency"), Some("runners"));
        assert_eq!(table_with("labels"), None);
    }

    #[test]
    fn no_key_is_listed_twice_and_each_has_a_text() {
        for group in groups() {
            for key in group.keys {
                let same = keys_of(group.table).filter(|it| it.name == key.name);
                assert_eq!(same.count(), 1, "{}.{}", group.table, key.name);
                assert!(!key.text.is_empty(), "{}.{}", group.table, key.name);
                assert!(!key.text.ends_with('.'), "{}.{}", group.table, key.name);
            }
        }
    }

    #[test]
    fn a_file_with_every_key_has_all_of_them() {
        let text = include_str!("../../../tests/it/fixtures/every-key.toml");
        let document: toml_edit::Document<&str> = toml_edit::Document::parse(text).unwrap();
        for group in groups() {
            let mut table = document.as_table();
            for step in group.table.split('.').filter(|step| !step.is_empty()) {
                let item = &table[step];
                let first = item.as_array_of_tables().and_then(|tables| tables.get(0));
                table = item.as_table().or(first).unwrap();
            }
            for key in group.keys {
                assert!(table.contains_key(key.name), "{}.{}", group.table, key.name);
            }
        }
    }
}
