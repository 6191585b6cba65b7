//! The text of a file, in which only parts are replaced.

use super::{EditError, RunnerEntry};
use crate::config::file::{header_span, parse_toml, runner_tables};
use crate::config::source::{SourceText, Span};
use crate::config::value::{text, value_span};
use std::path::Path;
use toml_edit::{Document, Item, Table, TableLike};

/// A text that is TOML.
#[derive(Debug)]
pub(super) struct Text(SourceText);

/// A part of the text and its replacement.
struct Splice {
    span: Span,
    new: String,
}

impl Text {
    pub(super) fn parse(path: &Path, text: String) -> Result<Self, EditError> {
        let source = SourceText::new(path, text);
        parse_toml(&source)?;
        Ok(Self(source))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0.text
    }

    fn document(&self) -> Result<Document<&str>, EditError> {
        Ok(parse_toml(&self.0)?)
    }

    pub(super) fn runners(&self) -> Vec<RunnerEntry> {
        let Ok(document) = self.document() else {
            return Vec::new();
        };
        runner_tables(document.as_table())
            .into_iter()
            .map(entry)
            .collect()
    }

    pub(super) fn append_runner(&mut self, runner: &str) -> Result<(), EditError> {
        let document = self.document()?;
        if document.get("runners").is_some_and(Item::is_value) {
            return Err(EditError::InlineRunners);
        }
        let end = self.as_str().len();
        let line_end = self.line_end();
        let mut new = String::new();
        if !self.as_str().is_empty() {
            if !self.as_str().ends_with('\n') {
                new.push_str(line_end);
            }
            new.push_str(line_end);
        }
        new.push_str(&runner.replace('\n', line_end));
        self.splice(vec![Splice {
            span: end..end,
            new,
        }])
    }

    pub(super) fn remove_runner(&mut self, index: usize) -> Result<RunnerEntry, EditError> {
        let document = self.document()?;
        let tables = document.get("runners").and_then(Item::as_array_of_tables);
        let Some(runner) = tables.and_then(|tables| tables.get(index)) else {
            return Err(EditError::InlineRunners);
        };
        let removed = entry(runner);
        let mut own = Vec::new();
        headers(runner, &mut own);
        let mut all = Vec::new();
        headers(document.as_table(), &mut all);
        all.sort_unstable();
        let mut values = Vec::new();
        value_ends(document.as_table(), &mut values);
        let starts: Vec<usize> = all.iter().map(|at| self.part_start(*at, &values)).collect();
        let mut removals = Vec::new();
        for (at, header) in all.iter().enumerate() {
            if own.contains(header) {
                let end = starts.get(at + 1).copied().unwrap_or(self.as_str().len());
                removals.push(Splice {
                    span: starts[at]..end,
                    new: String::new(),
                });
            }
        }
        self.splice(removals)?;
        Ok(removed)
    }

    /// Sets values of a runner; a key that it does not have is added below the first one.
    pub(super) fn set_values(
        &mut self,
        index: usize,
        values: &[(&str, String)],
    ) -> Result<(), EditError> {
        let document = self.document()?;
        let root: &dyn TableLike = document.as_table();
        let runners = runner_tables(root);
        let Some(runner) = runners.get(index).copied() else {
            return Err(EditError::InlineRunners);
        };
        let first = values.first().map_or("", |(key, _)| key);
        let Some(first) = value_span(runner, first).filter(|_| runner.contains_key(first)) else {
            let header = header_span(root, runner).map_or(0, |span| span.start);
            return Err(EditError::NoToken(self.0.position(header).0));
        };
        let is_inline = document.get("runners").is_some_and(Item::is_value);
        let separator = if is_inline {
            ", ".to_owned()
        } else {
            let indent = self.indent(first.start);
            format!("{}{indent}", self.line_end())
        };
        let mut splices = Vec::new();
        let mut added = String::new();
        for (key, value) in values {
            let span = value_span(runner, key).filter(|_| runner.contains_key(key));
            if let Some(span) = span {
                let new = value.clone();
                splices.push(Splice { span, new });
            } else {
                for part in [separator.as_str(), key, " = ", value] {
                    added.push_str(part);
                }
            }
        }
        let place = if is_inline {
            first.end
        } else {
            self.content_end(first.end)
        };
        // After the replacement of the first value, which may end at the same byte.
        splices.push(Splice {
            span: place..place,
            new: added,
        });
        self.splice(splices)
    }

    /// Replaces parts of the text, which do not overlap.
    fn splice(&mut self, mut splices: Vec<Splice>) -> Result<(), EditError> {
        splices.sort_by_key(|splice| (splice.span.start, splice.span.end));
        let mut text = self.as_str().to_owned();
        for splice in splices.into_iter().rev() {
            text.replace_range(splice.span, &splice.new);
        }
        *self = Self::parse(&self.0.path, text)?;
        Ok(())
    }

    /// Returns the start of the line of a byte.
    fn line_start(&self, at: usize) -> usize {
        self.as_str()[..at].rfind('\n').map_or(0, |at| at + 1)
    }

    /// Returns the white space before the first character of a line.
    fn indent(&self, at: usize) -> &str {
        let line = &self.as_str()[self.line_start(at)..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Returns the end of the line of a byte, without the characters that end it.
    fn content_end(&self, at: usize) -> usize {
        let rest = &self.as_str()[at..];
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.trim_end_matches('\r').len()
    }

    /// Returns what ends the lines of this text.
    fn line_end(&self) -> &'static str {
        if self.as_str().contains("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Returns the start of a table: its header, or the comment directly above it, except at the start of the file.
    fn part_start(&self, header: usize, value_ends: &[usize]) -> usize {
        let header = self.line_start(header);
        let value_end = value_ends.iter().filter(|end| **end <= header).max();
        let bound = value_end.copied().unwrap_or(0);
        let mut start = header;
        while start > 0 {
            let above = self.line_start(start - 1);
            let is_comment = self.as_str()[above..start].trim_start().starts_with('#');
            if !is_comment || above < bound {
                break;
            }
            start = above;
        }
        if start == 0 { header } else { start }
    }
}

fn entry(table: &dyn TableLike) -> RunnerEntry {
    let of = |key| text(table, key).unwrap_or_default();
    let id = table.get("id").and_then(Item::as_integer).unwrap_or(0);
    RunnerEntry {
        name: of("name"),
        url: of("url"),
        token: of("token").into(),
        id: u64::try_from(id).unwrap_or(0),
    }
}

/// Collects the places of the headers of a table and of all tables in it.
fn headers(table: &Table, found: &mut Vec<usize>) {
    if !table.is_implicit() && !table.is_dotted() {
        found.extend(table.span().map(|span| span.start));
    }
    for (_, item) in table {
        match item {
            Item::Table(table) => headers(table, found),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|table| headers(table, found)),
            Item::None | Item::Value(_) => {}
        }
    }
}

/// Collects the ends of all values.
fn value_ends(table: &Table, found: &mut Vec<usize>) {
    for (_, item) in table {
        match item {
            Item::Value(value) => found.extend(value.span().map(|span| span.end)),
            Item::Table(table) => value_ends(table, found),
            Item::ArrayOfTables(tables) => {
                tables.iter().for_each(|table| value_ends(table, found));
            }
            Item::None => {}
        }
    }
}
