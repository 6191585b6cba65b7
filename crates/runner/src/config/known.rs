use super::{Severity, fields_of};
use serde::de::DeserializeOwned;
use std::fmt;
use std::ops::Range;

/// What the program that reads a `config.toml` knows about executors.
///
/// This crate has no executors, so the program passes their names, the keys of their tables and functions that check these
/// tables.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The executors that `executor` may name.
    pub executors: Vec<KnownExecutor>,
    /// The tables that belong to executors.
    pub tables: Vec<KnownTable>,
    /// What an unknown key is. Default: an error.
    pub strictness: Strictness,
}

/// What unknown keys are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Errors.
    #[default]
    Strict,
    /// Warnings. The keys are left out of the tables for executors.
    Lenient,
}

/// An executor by the name that `executor` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownExecutor {
    /// The name.
    pub name: &'static str,
    /// The tables below `[[runners]]` that it reads.
    pub tables: &'static [&'static str],
}

/// A table below `[[runners]]` that executors read.
#[derive(Clone)]
pub struct KnownTable {
    /// Its name, such as `docker`.
    pub name: &'static str,
    /// Its keys.
    pub fields: Fields,
    /// Returns the effect of a key that `fields` does not have, by its path in the table.
    pub note: fn(&[&str]) -> Option<KeyNote>,
    /// Returns the problems of the table, without its unknown keys.
    pub check: fn(&toml_edit::Table) -> Vec<TableProblem>,
    /// Defaults that differ from GitLab Runner's, for `lint-config`.
    pub differences: &'static [DefaultDifference],
}

impl fmt::Debug for KnownTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownTable")
            .field("name", &self.name)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

impl KnownTable {
    /// Returns a table with these keys and without checks.
    pub fn new(name: &'static str, fields: Fields) -> Self {
        Self {
            name,
            fields,
            note: |_| None,
            check: |_| Vec::new(),
            differences: &[],
        }
    }
}

/// The keys of a table. Tables below it that are not [`with_nested`](Self::with_nested) may have any keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    names: Vec<&'static str>,
    nested: Vec<(&'static str, Self)>,
}

impl Fields {
    /// Returns the keys that a struct is read from.
    ///
    /// # Panics
    ///
    /// When `T` is not a struct with named fields, in builds with debug assertions.
    pub fn of<T: DeserializeOwned>() -> Self {
        let names = fields_of::<T>();
        debug_assert!(!names.is_empty(), "not a struct with named fields");
        Self::from_names(names)
    }

    /// Returns these keys.
    pub fn from_names(names: &[&'static str]) -> Self {
        Self {
            names: names.to_vec(),
            nested: Vec::new(),
        }
    }

    /// Adds the keys of a table or of a list of tables below this one.
    pub fn with_nested(mut self, name: &'static str, fields: Self) -> Self {
        self.nested.push((name, fields));
        self
    }

    /// Returns all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let nested = self.nested.iter().map(|(name, _)| *name);
        let new = nested.filter(|name| !self.names.contains(name));
        self.names.iter().copied().chain(new)
    }

    /// Returns the keys of the table with this name; `None` if it may have any.
    pub fn nested(&self, name: &str) -> Option<&Self> {
        let found = self.nested.iter().find(|(table, _)| *table == name);
        found.map(|(_, fields)| fields)
    }
}

/// The effect of a key that an executor does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyNote {
    /// None, for this reason. The key is left out of the table for the executor.
    NoEffect(&'static str),
    /// The file cannot be used, for this reason.
    Refused(&'static str),
}

/// A problem in a table of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProblem {
    /// The keys from the table to the place, with the indexes of lists from 0; empty for the table itself.
    pub path: Vec<String>,
    /// The place in the file, in bytes, if it is known; it has precedence over `path`.
    pub span: Option<Range<usize>>,
    /// How serious it is.
    pub severity: Severity,
    /// The problem, without secrets.
    pub message: String,
}

impl TableProblem {
    /// Returns an error about a key of the table.
    pub fn error(key: &str, message: impl Into<String>) -> Self {
        Self {
            path: vec![key.to_owned()],
            span: None,
            severity: Severity::Error,
            message: message.into(),
        }
    }

    /// Returns a warning about a key of the table.
    pub fn warning(key: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(key, message)
        }
    }

    /// Returns an error of reading the table as a type of the executor.
    pub fn from_read_error(error: &toml_edit::de::Error) -> Self {
        Self {
            path: Vec::new(),
            span: error.span(),
            severity: Severity::Error,
            message: error.message().trim_end().to_owned(),
        }
    }
}

/// A default that differs from GitLab Runner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultDifference {
    /// The key.
    pub key: &'static str,
    /// The default in GitLab Runner.
    pub in_gitlab_runner: &'static str,
    /// The default here.
    pub here: &'static str,
}
