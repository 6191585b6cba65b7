//! Checks the executors' tables, of which only the program knows the keys.

use super::collector::{Collector, Finding};
use super::key_check::{unknown, with_suggestion};
use super::keys::{refused_executor, refused_executors};
use super::secrets::is_secret;
use super::source::Span;
use super::value::{found, key_span};
use super::{Fields, KeyNote, Known, KnownTable, ProblemKind, Severity, Strictness, TableProblem};
use toml_edit::{Item, Table, TableLike, Value};

/// Returns whether a table below `[[runners]]` belongs to an executor, also to one that is refused.
pub(super) fn is_known(name: &str, known: &Known) -> bool {
    names(known).any(|table| table == name)
}

/// Returns the names of all tables of executors, also of those that are refused.
pub(super) fn names(known: &Known) -> impl Iterator<Item = &'static str> {
    let tables = known.tables.iter().map(|table| table.name);
    tables.chain(refused_executors())
}

/// Checks the executors' tables of one `[[runners]]`, and returns them without keys that have no effect.
///
/// `used` names the tables that the executor reads; `None` if the executor is not known. The others are left out.
pub(super) fn check_tables(
    runner: &dyn TableLike,
    executor: &str,
    used: Option<&[&str]>,
    known: &Known,
    problems: &mut Collector<'_>,
) -> Table {
    let mut tables = Table::new();
    for (name, item) in runner.iter() {
        let Some(known_table) = known.tables.iter().find(|table| table.name == name) else {
            if refused_executor(name).is_some() && executor != name {
                let reason = format!("the executor is {executor:?}");
                problems.add(key_span(runner, name), Finding::no_effect(name, &reason));
            }
            continue;
        };
        let Some(mut table) = into_table(item) else {
            let text = format!(
                "`{name}` must be written as [runners.{name}], found {}",
                found(item)
            );
            problems.add(key_span(runner, name), Finding::invalid(text));
            continue;
        };
        let header = item.span().or_else(|| key_span(runner, name));
        let is_used = used.is_none_or(|used| used.contains(&name));
        let mut check = TableCheck {
            table: known_table,
            is_used,
            strictness: known.strictness,
            problems: &mut *problems,
        };
        check.remove_unread_keys(&mut table, &known_table.fields, &mut Vec::new());
        if !is_used {
            if !table.is_empty() {
                let reason = format!("the executor {executor:?} does not read this table");
                problems.add(header, Finding::no_effect(name, &reason));
            }
            continue;
        }
        check.run_check(&table, header.as_ref());
        tables.insert(name, Item::Table(table));
    }
    tables
}

fn into_table(item: &Item) -> Option<Table> {
    match item {
        Item::Table(table) => Some(table.clone()),
        Item::Value(Value::InlineTable(table)) => Some(table.clone().into_table()),
        _ => None,
    }
}

struct TableCheck<'c, 's> {
    table: &'c KnownTable,
    /// Whether the runner's executor reads the table.
    is_used: bool,
    strictness: Strictness,
    problems: &'c mut Collector<'s>,
}

impl TableCheck<'_, '_> {
    /// Reports the keys that the executor does not read, and removes them.
    fn remove_unread_keys(
        &mut self,
        table: &mut dyn TableLike,
        fields: &Fields,
        path: &mut Vec<String>,
    ) {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            path.push(key);
            let key = &path[path.len() - 1];
            if fields.names().any(|name| name == key) {
                if let (Some(fields), Some(item)) = (fields.nested(key), table.get_mut(key)) {
                    for_each_table(item, |table| self.remove_unread_keys(table, fields, path));
                }
            } else {
                if let Some(finding) = self.unread_key(fields, path) {
                    self.problems.add(key_span(table, key), finding);
                }
                table.remove(key);
            }
            path.pop();
        }
    }

    /// Returns the problem of a key that the executor does not read. Its reasons do not matter in a table that is not used.
    fn unread_key(&self, fields: &Fields, path: &[String]) -> Option<Finding> {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let key = keys.last().copied().unwrap_or_default();
        match (self.table.note)(&keys) {
            Some(_) if !self.is_used => None,
            Some(KeyNote::NoEffect(reason)) => Some(Finding::no_effect(key, reason)),
            Some(KeyNote::Refused(reason)) => Some(Finding::refused(key, reason)),
            None => {
                let finding = unknown(format!("unknown key `{key}`"), self.strictness);
                Some(with_suggestion(finding, key, fields.names()))
            }
        }
    }

    /// Runs the executor's own check.
    fn run_check(&mut self, table: &Table, header: Option<&Span>) {
        for problem in (self.table.check)(table) {
            let place = Place::find(table, &problem, header.cloned());
            let message = if place.is_secret {
                "the value is not valid".to_owned()
            } else {
                problem.message
            };
            let message = match place.key {
                Some(key) => format!("`{key}`: {message}"),
                None => format!("[runners.{}]: {message}", self.table.name),
            };
            let finding = Finding::invalid(message).with_severity(problem.severity);
            let finding = Finding {
                kind: match problem.severity {
                    Severity::Info => ProblemKind::NoEffect,
                    _ => ProblemKind::Invalid,
                },
                ..finding
            };
            self.problems.add(place.span, finding);
        }
    }
}

fn for_each_table(item: &mut Item, mut visit: impl FnMut(&mut dyn TableLike)) {
    match item {
        Item::ArrayOfTables(tables) => tables.iter_mut().for_each(|table| visit(table)),
        Item::Value(Value::Array(values)) => {
            let tables = values.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.for_each(|table| visit(table));
        }
        item => {
            if let Some(table) = item.as_table_like_mut() {
                visit(table);
            }
        }
    }
}

/// Where a problem of a table is.
struct Place {
    /// The key, if the problem is about one.
    key: Option<String>,
    span: Option<Span>,
    is_secret: bool,
}

impl Place {
    fn find(table: &Table, problem: &TableProblem, header: Option<Span>) -> Self {
        if let Some(span) = problem.span.clone() {
            let key = key_at(table, &span);
            return Self {
                is_secret: key.as_deref().is_some_and(is_secret),
                key,
                span: Some(span),
            };
        }
        let mut place = header;
        let mut at: Option<&dyn TableLike> = Some(table);
        let mut list: Option<&Item> = None;
        for step in &problem.path {
            let (span, item) = match (at, list, step.parse::<usize>()) {
                (Some(table), _, _) => (key_span(table, step), table.get(step)),
                (None, Some(Item::ArrayOfTables(tables)), Ok(index)) => {
                    let Some(table) = tables.get(index) else {
                        break;
                    };
                    place = table.span().or(place);
                    at = Some(table);
                    continue;
                }
                (None, Some(Item::Value(Value::Array(values))), Ok(index)) => {
                    let Some(value) = values.get(index) else {
                        break;
                    };
                    place = value.span().or(place);
                    at = value.as_inline_table().map(|table| table as &dyn TableLike);
                    continue;
                }
                _ => break,
            };
            place = span.or(place);
            at = item.and_then(Item::as_table_like);
            list = item;
        }
        let key = problem
            .path
            .iter()
            .rfind(|step| step.parse::<usize>().is_err());
        Self {
            key: key.cloned(),
            span: place,
            is_secret: problem.path.iter().any(|step| is_secret(step)),
        }
    }
}

/// Returns the key of the value at a place.
fn key_at(table: &dyn TableLike, span: &Span) -> Option<String> {
    for (key, item) in table.iter() {
        let nested = match item {
            Item::ArrayOfTables(tables) => tables.iter().find_map(|table| key_at(table, span)),
            item => item.as_table_like().and_then(|table| key_at(table, span)),
        };
        if nested.is_some() {
            return nested;
        }
        let has = |place: Option<Span>| {
            place.is_some_and(|place| place.start <= span.start && span.end <= place.end)
        };
        if !item.is_table() && has(item.span()) || has(key_span(table, key)) {
            return Some(key.to_owned());
        }
    }
    None
}
