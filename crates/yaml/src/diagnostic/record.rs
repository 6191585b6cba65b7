use super::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};
use serde::Serialize;

/// A diagnostic as printed by `lint --json`.
///
/// Lines and columns count from 1, columns in characters; the end is exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticRecord {
    /// The stable name of this kind of diagnostic.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The message.
    pub message: String,
    /// The file it is in.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u32>,
    /// The column.
    pub column: Option<u32>,
    /// The line of the end.
    pub end_line: Option<u32>,
    /// The column of the end.
    pub end_column: Option<u32>,
    /// Related locations.
    pub related: Vec<RelatedRecord>,
    /// A suggestion for the author.
    pub help: Option<String>,
}

/// A related location of a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedRecord {
    /// The label.
    pub message: String,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column of the end.
    pub end_column: u32,
}

impl DiagnosticRecord {
    /// Returns the record of a diagnostic, with the names of its files.
    pub fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Self {
        let span = diagnostic.span;
        let end = span.map(|span| sources.end_of(span));
        let related = diagnostic.related.iter();
        Self {
            code: diagnostic.code,
            severity: diagnostic.severity,
            message: diagnostic.sentence().into_owned(),
            file: span.map(|span| sources.file(span.file).name().to_owned()),
            line: span.map(|span| span.line),
            column: span.map(|span| span.column),
            end_line: end.map(|(line, _)| line),
            end_column: end.map(|(_, column)| column),
            related: related
                .map(|(span, words)| RelatedRecord::new(*span, words, sources))
                .collect(),
            help: diagnostic.help.clone(),
        }
    }
}

impl RelatedRecord {
    fn new(span: Span, words: &str, sources: &SourceMap) -> Self {
        let (end_line, end_column) = sources.end_of(span);
        Self {
            message: words.to_owned(),
            file: sources.file(span.file).name().to_owned(),
            line: span.line,
            column: span.column,
            end_line,
            end_column,
        }
    }
}
