use super::{Diagnostic, Severity};
use crate::source::{SourceMap, Span};
use serde::Serialize;

/// A finding in the shape `lint --json` prints.
///
/// Lines and columns count from 1, columns in characters; the end is behind the last character.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticRecord {
    /// The stable name of this kind of finding.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is the matter.
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
    /// Other places that belong to it.
    pub related: Vec<RelatedRecord>,
    /// What the author can do.
    pub help: Option<String>,
}

/// Another place that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedRecord {
    /// What it has to do with it.
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
    /// Returns the finding with the names of the files it points into.
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
