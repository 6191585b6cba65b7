//! Errors, warnings and notes about a pipeline file, with their locations.
//!
//! A [`Diagnostic`] has a code, a sentence, a location and help. [`Renderer`] shows it in the style
//! of the Rust compiler; [`DiagnosticRecord`] is its form for programs.

mod excerpt;
mod list;
mod record;
mod render;
mod repeat;
mod style;
mod unread;

pub use list::{Checked, Diagnostics};
pub use record::{DiagnosticRecord, RelatedRecord};
pub use style::Renderer;
pub use unread::Unread;

use crate::source::Span;
use serde::Serialize;
use std::borrow::Cow;

/// The severity of a [`Diagnostic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The pipeline cannot run.
    Error,
    /// The pipeline runs, but perhaps not as its author expects.
    Warning,
    /// The pipeline runs; shown only on request.
    Note,
}

impl Severity {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// An error, warning or note with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// A stable name of this kind of diagnostic, for example `unknown-keyword`.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The message, in one sentence without a final dot.
    pub message: String,
    /// The location; absent when it is about the file as a whole.
    pub span: Option<Span>,
    /// Related locations, each with a label; the label of [`span`](Self::span) is among them.
    pub related: Vec<(Span, String)>,
    /// A suggestion for the author.
    pub help: Option<String>,
    /// The number of further jobs that have it at the same location.
    pub more_jobs: u32,
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

    /// Returns the message with the number of further jobs that have it.
    pub fn sentence(&self) -> Cow<'_, str> {
        let message = &self.message;
        match self.more_jobs {
            0 => Cow::Borrowed(message),
            1 => Cow::Owned(format!("{message} (and in one more job)")),
            more => Cow::Owned(format!("{message} (and in {more} more jobs)")),
        }
    }

    /// Sets the location.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Adds a related location with a label.
    pub fn with_related(mut self, span: Span, words: impl Into<String>) -> Self {
        self.related.push((span, words.into()));
        self
    }

    /// Sets the help.
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}
