use super::SettingsError;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use yaml::suggest::did_you_mean;

/// A table of a settings file, with the context that error messages need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'a> {
    file: &'a Path,
    text: &'a str,
    /// The name of the table in messages, such as `[gitlab]`; empty for the whole file.
    name: &'a str,
    span: (usize, usize),
    entries: &'a DeTable<'a>,
}

/// A value with its location.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'a> {
    table: Table<'a>,
    /// Its name in messages.
    pub(crate) key: &'a str,
    node: &'a Spanned<DeValue<'a>>,
}

/// Parses a text into its tables.
pub(crate) fn parse<'a>(file: &Path, text: &'a str) -> Result<Spanned<DeTable<'a>>, SettingsError> {
    DeTable::parse(text).map_err(|error| SettingsError {
        file: file.to_owned(),
        place: error.span().map(|span| place_of(text, span.start)),
        // The first line states the error; the others may quote the text, which may hold a token.
        message: error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
        help: None,
    })
}

impl<'a> Table<'a> {
    pub(crate) fn whole(file: &'a Path, text: &'a str, parsed: &'a Spanned<DeTable<'a>>) -> Self {
        Self {
            file,
            text,
            name: "",
            span: (0, 0),
            entries: parsed.get_ref(),
        }
    }

    /// Refuses keys that are not in `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), SettingsError> {
        for (key, _) in self.entries {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let place = match self.name {
                "" => String::new(),
                table => format!(" in {table}"),
            };
            // The key may be a misplaced token, so the error shows only its start.
            let shown: String = name.chars().take(40).collect();
            let message = format!("there is no setting `{}`{place}", shown.escape_default());
            let known_ones = || format!("known are {}", known.join(", "));
            let help = did_you_mean(name, known.iter().copied()).unwrap_or_else(known_ones);
            return Err(self.error(key.span(), message, Some(help)));
        }
        Ok(())
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &'a str) -> Option<Value<'a>> {
        let value = self.entries.get(key)?;
        Some(Value {
            table: *self,
            key,
            node: value,
        })
    }

    /// Returns all values of a table whose keys the user chooses.
    pub(super) fn values(&self) -> impl Iterator<Item = Value<'a>> {
        let table = *self;
        self.entries.iter().map(move |(key, node)| Value {
            table,
            key: key.get_ref(),
            node,
        })
    }

    /// Returns an error about the table.
    pub(crate) fn refuse(&self, message: &str, help: &str) -> SettingsError {
        self.error(
            self.span.0..self.span.1,
            message.to_owned(),
            Some(help.to_owned()),
        )
    }

    fn error(&self, span: Range<usize>, message: String, help: Option<String>) -> SettingsError {
        SettingsError {
            file: self.file.to_owned(),
            place: Some(place_of(self.text, span.start)),
            message,
            help,
        }
    }
}

impl<'a> Value<'a> {
    /// Returns this value as a table, with `name` as its name in messages.
    pub(crate) fn table(&self, name: &'a str) -> Result<Table<'a>, SettingsError> {
        let entries = self.node.get_ref().as_table();
        let span = self.node.span();
        entries
            .map(|entries| Table {
                name,
                span: (span.start, span.end),
                entries,
                ..self.table
            })
            .ok_or_else(|| self.wrong_type("a table"))
    }

    /// Returns this value as a list of tables, each with `name` as its name in messages.
    pub(crate) fn tables(&self, name: &'a str) -> Result<Vec<Table<'a>>, SettingsError> {
        let items = self.node.get_ref().as_array();
        let items = items.ok_or_else(|| {
            let mut error = self.wrong_type("a list of tables");
            error.help = Some(format!("write {name} above it"));
            error
        })?;
        let value = |item| Value {
            node: item,
            ..*self
        };
        items.iter().map(|item| value(item).table(name)).collect()
    }

    /// Returns this value as text.
    pub(crate) fn text(&self) -> Result<&'a str, SettingsError> {
        let text = self.node.get_ref().as_str();
        text.ok_or_else(|| self.wrong_type("text"))
    }

    /// Returns this value as a boolean.
    pub(crate) fn flag(&self) -> Result<bool, SettingsError> {
        let flag = self.node.get_ref().as_bool();
        flag.ok_or_else(|| self.wrong_type("true or false"))
    }

    /// Returns this value as a count of at least one.
    pub(crate) fn count(&self) -> Result<NonZeroUsize, SettingsError> {
        let Some(number) = self.node.get_ref().as_integer() else {
            return Err(self.wrong_type("a whole number of at least 1"));
        };
        number.as_str().parse().map_err(|_| {
            let (key, number) = (self.key, number.as_str());
            let message = format!("`{key}` is a whole number of at least 1, not {number}");
            self.refuse(message, None)
        })
    }

    /// Returns the line and column of this value.
    pub(crate) fn place(&self) -> (usize, usize) {
        place_of(self.table.text, self.node.span().start)
    }

    /// Returns the items of this list of strings.
    pub(crate) fn items(&self) -> Result<Vec<Self>, SettingsError> {
        let items = self.node.get_ref().as_array();
        let items = items.ok_or_else(|| self.wrong_type("a list of texts"))?;
        let value = |item| Value {
            node: item,
            ..*self
        };
        Ok(items.iter().map(value).collect())
    }

    /// Returns an error about this value; if the value may be secret, `message` must not contain it.
    pub(crate) fn refuse(&self, message: String, help: impl Into<Option<String>>) -> SettingsError {
        self.table.error(self.node.span(), message, help.into())
    }

    /// Returns the file that contains this value.
    pub(super) fn file(&self) -> &'a Path {
        self.table.file
    }

    /// Returns the key in a form fit for messages: it may be a misplaced token, so it is not shown in full.
    pub(super) fn shown_key(&self) -> String {
        let key: String = self.key.chars().take(40).collect();
        key.escape_default().to_string()
    }

    /// Returns an error about the key of this value.
    pub(super) fn refuse_key(&self, message: String, help: String) -> SettingsError {
        let entries = self.table.entries;
        let key = entries.keys().find(|key| key.get_ref() == self.key);
        let span = key.map_or_else(|| self.node.span(), Spanned::span);
        self.table.error(span, message, Some(help))
    }

    fn wrong_type(&self, expected: &str) -> SettingsError {
        let found = match self.node.get_ref() {
            DeValue::String(_) => "text",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.refuse(
            format!("`{}` is {expected}, not {found}", self.shown_key()),
            None,
        )
    }
}

/// Returns the line and column of a byte offset, both from 1; columns count characters.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let mut end = at.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let check = |text: &str, at: usize, expect: (usize, usize)| {
            assert_eq!(place_of(text, at), expect, "{text:?} at {at}");
        };
        check("", 0, (1, 1));
        check("ab\ncd", 4, (2, 2));
        check("ä = 1", 3, (1, 3));
        check("ä", 1, (1, 1));
        check("a", 99, (1, 2));
    }
}
