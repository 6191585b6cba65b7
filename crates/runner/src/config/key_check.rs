//! Checks the keys of a file against the table of all keys: unknown ones, types, and those without effect.

use super::collector::{Collector, Finding};
use super::keys::{self, FLAGS, KeyEffect, KeySpec, ValueKind};
use super::value::{found, is_zero, key_span, type_error, value_span};
use super::{Known, ProblemKind, Severity, Strictness, table_check};
use toml_edit::{Item, TableLike};
use yaml::suggest::{did_you_mean, nearest};

/// Checks all keys of a table and of the tables below it. `path` is the table's path with dots.
pub(super) fn check_table(
    table: &dyn TableLike,
    path: &str,
    known: &Known,
    problems: &mut Collector<'_>,
) {
    for (key, item) in table.iter() {
        let below = join(path, key);
        if let Some(spec) = keys::find(path, key) {
            check_key(table, spec, item, problems);
        } else if keys::is_table(&below) {
            check_nested(table, key, item, &below, known, problems);
        } else if path != "runners" || !table_check::is_known(key, known) {
            let finding = unknown_key(path, key, known);
            problems.add(key_span(table, key), finding);
        }
    }
}

fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}

fn check_nested(
    table: &dyn TableLike,
    key: &str,
    item: &Item,
    path: &str,
    known: &Known,
    problems: &mut Collector<'_>,
) {
    let is_list = keys::LISTS.contains(&path);
    match tables_of(item) {
        Some((tables, found_list)) if is_list == found_list => {
            for table in tables {
                check_table(table, path, known, problems);
            }
        }
        _ => {
            let header = keys::header(path);
            let text = format!("`{key}` must be written as {header}, found {}", found(item));
            problems.add(key_span(table, key), Finding::invalid(text));
        }
    }
}

/// Returns the tables of an item, and whether they are a list.
pub(super) fn tables_of(item: &Item) -> Option<(Vec<&dyn TableLike>, bool)> {
    if let Some(table) = item.as_table_like() {
        return Some((vec![table], false));
    }
    if let Some(tables) = item.as_array_of_tables() {
        let tables = tables.iter().map(|table| table as &dyn TableLike);
        return Some((tables.collect(), true));
    }
    let tables = item.as_array()?.iter();
    let tables: Option<Vec<_>> = tables
        .map(|value| Some(value.as_inline_table()? as &dyn TableLike))
        .collect();
    Some((tables?, true))
}

fn check_key(table: &dyn TableLike, spec: &KeySpec, item: &Item, problems: &mut Collector<'_>) {
    let name = spec.name;
    if let Some(text) = type_error(item, spec.kind) {
        let finding = Finding::invalid(format!("`{name}` {text}"));
        problems.add(value_span(table, name), finding);
        return;
    }
    let finding = match spec.effect {
        KeyEffect::NoEffect if !is_zero(item) => Finding::no_effect(name, spec.text),
        KeyEffect::Refused if !is_zero(item) => Finding::refused(name, spec.text),
        KeyEffect::RefusedIfFalse if item.as_bool() == Some(false) => {
            Finding::refused(&format!("{name} = false"), spec.text)
        }
        _ if spec.kind == ValueKind::BoolMap => return check_flags(item, problems),
        _ => return,
    };
    problems.add(key_span(table, name), finding);
}

fn check_flags(item: &Item, problems: &mut Collector<'_>) {
    let Some(flags) = item.as_table_like() else {
        return;
    };
    for (name, item) in flags.iter() {
        let finding = match FLAGS.iter().find(|flag| flag.name == name) {
            None => {
                let names = FLAGS.iter().map(|flag| flag.name);
                // Old files have flags of old versions, which GitLab Runner ignores.
                let text = format!("unknown feature flag `{name}`");
                let finding = unknown(text, Strictness::Lenient);
                with_suggestion(finding, name, names)
            }
            Some(flag) => match item.as_bool().and_then(|value| flag.no_effect(value)) {
                Some(reason) => Finding::no_effect(name, reason),
                None => continue,
            },
        };
        problems.add(key_span(flags, name), finding);
    }
}

/// Returns the problem of an unknown key, an error or a warning.
pub(super) fn unknown(message: String, strictness: Strictness) -> Finding {
    Finding {
        severity: match strictness {
            Strictness::Strict => Severity::Error,
            Strictness::Lenient => Severity::Warning,
        },
        kind: ProblemKind::Unknown,
        message,
        hint: None,
    }
}

/// Adds the name that is most similar to an unknown one.
pub(super) fn with_suggestion<'n>(
    finding: Finding,
    name: &str,
    names: impl Iterator<Item = &'n str>,
) -> Finding {
    match did_you_mean(name, names) {
        Some(hint) => finding.with_hint(hint),
        None => finding,
    }
}

fn unknown_key(path: &str, key: &str, known: &Known) -> Finding {
    let finding = unknown(format!("unknown key `{key}`"), known.strictness);
    if let Some(table) = keys::table_with(key) {
        let place = match table {
            "" => "belongs above all tables".to_owned(),
            table => format!("belongs into {}", keys::header(table)),
        };
        return finding.with_hint(format!("`{key}` {place}"));
    }
    let executors = table_check::names(known).filter(|_| path == "runners");
    let names: Vec<&str> = keys::keys_of(path)
        .map(|spec| spec.name)
        .chain(keys::tables_below(path))
        .chain(executors)
        .collect();
    if nearest(key, names.iter().copied()).is_none()
        && path.is_empty()
        && table_check::is_known(key, known)
    {
        return finding.with_hint(format!("the table of an executor is [runners.{key}]"));
    }
    with_suggestion(finding, key, names.into_iter())
}
