use super::Diagnostic;
use crate::source::SourceMap;
use serde::Serialize;

/// A finding in the shape `lint --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiagnosticRecord {
    /// The stable name of this kind of finding.
    pub code: &'static str,
    /// What is the matter.
    pub message: String,
    /// The file it is in.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, in characters from 1.
    pub column: Option<u32>,
    /// What the author can do.
    pub help: Option<String>,
}

impl DiagnosticRecord {
    pub(super) fn new(diagnostic: &Diagnostic, sources: &SourceMap) -> Self {
        let span = diagnostic.span;
        Self {
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            file: span.map(|span| sources.file(span.file).name().to_owned()),
            line: span.map(|span| span.line),
            column: span.map(|span| span.column),
            help: diagnostic.help.clone(),
        }
    }
}
