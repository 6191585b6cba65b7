//! What is wrong or doubtful in a pipeline file, and where.
//!
//! A [`Diagnostic`] is a code, a sentence, a place and advice. [`Renderer`] shows it to people, as
//! the compiler of Rust shows its own; [`DiagnosticRecord`] is the same for programs.

mod excerpt;
mod lacks;
mod list;
mod record;
mod render;
mod repeat;

pub use lacks::Lacks;
pub use list::{Checked, Diagnostics};
pub use record::{DiagnosticRecord, RelatedRecord};
pub use render::Renderer;

use crate::source::Span;
use serde::Serialize;
use std::borrow::Cow;

/// How much a [`Diagnostic`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The pipeline cannot run.
    Error,
    /// The pipeline runs, though perhaps not as its author expects.
    Warning,
    /// The pipeline runs, and there is something to know about it; shown when asked for.
    Note,
}

impl Severity {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One finding, with the place it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable name for this kind of finding, for example `unknown-keyword`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is the matter, in one sentence without a final dot.
    pub message: String,
    /// The place; absent when the finding is about the file as a whole.
    pub span: Option<Span>,
    /// Other places that belong to it, each with a few words.
    pub related: Vec<(Span, String)>,
    /// What the author can do.
    pub help: Option<String>,
    /// How many more jobs have it, from the same place.
    pub more_jobs: usize,
}

impl Diagnostic {
    /// Returns an error.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            span: None,
            related: Vec::new(),
            help: None,
            more_jobs: 0,
        }
    }

    /// Returns a warning.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    /// Returns a note.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Note,
            ..Self::error(code, message)
        }
    }

    /// Returns the message with the number of jobs that have the same, if others do.
    pub fn sentence(&self) -> Cow<'_, str> {
        let message = &self.message;
        match self.more_jobs {
            0 => Cow::Borrowed(message),
            1 => Cow::Owned(format!("{message} (and in one more job)")),
            more => Cow::Owned(format!("{message} (and in {more} more jobs)")),
        }
    }

    /// Sets the place.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Adds another place that belongs to the finding.
    pub fn with_related(mut self, span: Span, words: impl Into<String>) -> Self {
        self.related.push((span, words.into()));
        self
    }

    /// Sets what the author can do.
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}
