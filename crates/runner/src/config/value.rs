//! Typed values of a table. A value of another type is absent here; `key_check` reports it.

use super::go_duration;
use super::keys::ValueKind;
use super::source::Span;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;
use toml_edit::{Item, TableLike, Value};

/// A longer time is a mistake, and too long for the clocks of some systems.
const LONGEST: Duration = Duration::from_hours(10 * 366 * 24);

/// Returns the key's place.
pub(super) fn key_span(table: &dyn TableLike, key: &str) -> Option<Span> {
    table.key(key)?.span()
}

/// Returns the value's place; if it has none, the key's.
pub(super) fn value_span(table: &dyn TableLike, key: &str) -> Option<Span> {
    let value = table.get(key).and_then(Item::span);
    value.or_else(|| key_span(table, key))
}

/// Returns a text that is not empty.
pub(super) fn text(table: &dyn TableLike, key: &str) -> Option<String> {
    let text = table.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn boolean(table: &dyn TableLike, key: &str) -> bool {
    table.get(key).and_then(Item::as_bool).unwrap_or_default()
}

/// Returns a number above 0.
pub(super) fn positive(table: &dyn TableLike, key: &str) -> Option<u32> {
    let number = table.get(key)?.as_integer()?;
    u32::try_from(number).ok().filter(|number| *number > 0)
}

/// Returns a time above 0, from seconds or a duration.
pub(super) fn duration(table: &dyn TableLike, key: &str) -> Option<Duration> {
    let item = table.get(key)?;
    let duration = match item.as_str() {
        Some(text) => go_duration::parse(text)?,
        None => Duration::from_secs(u64::try_from(item.as_integer()?).ok()?),
    };
    (!duration.is_zero() && duration <= LONGEST).then_some(duration)
}

pub(super) fn texts(table: &dyn TableLike, key: &str) -> Vec<(String, Option<Span>)> {
    let array = table.get(key).and_then(Item::as_array);
    let values = array.into_iter().flatten();
    values
        .filter_map(|value| Some((value.as_str()?.to_owned(), value.span())))
        .collect()
}

pub(super) fn text_map(table: &dyn TableLike, key: &str) -> BTreeMap<String, String> {
    map(table, key, |item| item.as_str().map(str::to_owned))
}

pub(super) fn flags(table: &dyn TableLike, key: &str) -> BTreeMap<String, bool> {
    map(table, key, Item::as_bool)
}

fn map<T>(table: &dyn TableLike, key: &str, read: fn(&Item) -> Option<T>) -> BTreeMap<String, T> {
    let map = table.get(key).and_then(Item::as_table_like);
    let entries = map.into_iter().flat_map(TableLike::iter);
    entries
        .filter_map(|(name, item)| Some((name.to_owned(), read(item)?)))
        .collect()
}

/// Returns a time; `None` for the year 1, which GitLab Runner writes for "never".
pub(super) fn time(table: &dyn TableLike, key: &str) -> Option<Timestamp> {
    let time = table.get(key)?.as_datetime()?;
    if time.date.is_some_and(|date| date.year <= 1) {
        return None;
    }
    time.to_string().parse().ok()
}

/// Returns whether a value is GitLab Runner's default by its type: `false`, 0, an empty text or an empty list.
pub(super) fn is_zero(item: &Item) -> bool {
    match item {
        Item::None => true,
        Item::Value(Value::Boolean(value)) => !value.value(),
        Item::Value(Value::Integer(value)) => *value.value() == 0,
        Item::Value(Value::String(value)) => value.value().is_empty(),
        Item::Value(Value::Array(value)) => value.is_empty(),
        Item::Value(Value::InlineTable(value)) => value.is_empty(),
        Item::Table(table) => table.is_empty(),
        _ => false,
    }
}

/// Returns why a value does not have the type: `expected A, found B`.
pub(super) fn type_error(item: &Item, kind: ValueKind) -> Option<String> {
    let fits = match kind {
        ValueKind::Anything => true,
        ValueKind::Bool => item.is_bool(),
        ValueKind::Integer => match item.as_integer() {
            Some(number) if i32::try_from(number).is_err() => {
                return Some(format!("is out of range: {number}"));
            }
            number => number.is_some(),
        },
        ValueKind::Bytes => item.is_integer(),
        ValueKind::Text => item.is_str(),
        ValueKind::Seconds if item.is_integer() => {
            return seconds_error(item.as_integer().unwrap_or_default());
        }
        ValueKind::Duration if item.is_integer() => {
            return Some(
                "must be a duration such as \"1h30m\", found an integer, which GitLab Runner takes for nanoseconds"
                    .to_owned(),
            );
        }
        ValueKind::Seconds | ValueKind::Duration => return duration_error(item, kind),
        ValueKind::Time => match item.as_datetime() {
            Some(time) if time.to_string().parse::<Timestamp>().is_err() => false,
            time => time.is_some(),
        },
        ValueKind::TextList => has_only(item, Value::is_str),
        ValueKind::NumberList => has_only(item, |it| it.is_integer() || it.is_float()),
        ValueKind::TextMap => has_only_values(item, Item::is_str),
        ValueKind::BoolMap => has_only_values(item, Item::is_bool),
    };
    (!fits).then(|| mismatch(item, kind))
}

fn mismatch(item: &Item, kind: ValueKind) -> String {
    let expected = kind.description();
    match (kind, item) {
        (ValueKind::TextList | ValueKind::NumberList, Item::Value(Value::Array(_)))
        | (ValueKind::TextMap | ValueKind::BoolMap, Item::Table(_))
        | (ValueKind::Time, Item::Value(Value::Datetime(_))) => format!("must be {expected}"),
        _ => format!("must be {expected}, found {}", found(item)),
    }
}

fn duration_error(item: &Item, kind: ValueKind) -> Option<String> {
    let Some(text) = item.as_str() else {
        return Some(mismatch(item, kind));
    };
    match go_duration::parse(text) {
        None => Some(format!("must be {}, found {text:?}", kind.description())),
        Some(duration) if duration > LONGEST => Some("is longer than ten years".to_owned()),
        Some(_) => None,
    }
}

fn seconds_error(seconds: i64) -> Option<String> {
    let is_too_long = u64::try_from(seconds).is_ok_and(|it| it > LONGEST.as_secs());
    is_too_long.then(|| "is longer than ten years".to_owned())
}

fn has_only(item: &Item, fits: impl Fn(&Value) -> bool) -> bool {
    item.as_array().is_some_and(|array| array.iter().all(fits))
}

fn has_only_values(item: &Item, fits: fn(&Item) -> bool) -> bool {
    let table = item.as_table_like();
    table.is_some_and(|table| table.iter().all(|(_, item)| fits(item)))
}

/// Returns the type of a value for a message.
pub(super) fn found(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) | Item::Value(Value::InlineTable(_)) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(Value::String(_)) => "a text",
        Item::Value(Value::Integer(_)) => "an integer",
        Item::Value(Value::Float(_)) => "a number with a fraction",
        Item::Value(Value::Boolean(_)) => "a boolean",
        Item::Value(Value::Datetime(_)) => "a date",
        Item::Value(Value::Array(_)) => "a list",
    }
}
