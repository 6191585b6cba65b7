//! Collects all problems of a file.

use super::source::{SourceText, Span};
use super::{Problem, ProblemKind, Severity};

/// The problems found so far.
#[derive(Debug)]
pub(super) struct Collector<'s> {
    source: &'s SourceText,
    /// Values that must not appear in a message.
    secrets: Vec<String>,
    found: Vec<(usize, Problem)>,
}

/// A problem before it has a position.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) kind: ProblemKind,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Finding {
    /// Returns an error about a value.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            kind: ProblemKind::Invalid,
            message: message.into(),
            hint: None,
        }
    }

    /// Returns a note about a key without effect.
    pub(super) fn no_effect(key: &str, reason: &str) -> Self {
        Self {
            severity: Severity::Info,
            kind: ProblemKind::NoEffect,
            message: format!("`{key}` has no effect: {reason}"),
            hint: None,
        }
    }

    /// Returns an error about a key that is refused.
    pub(super) fn refused(key: &str, reason: &str) -> Self {
        Self {
            severity: Severity::Error,
            kind: ProblemKind::Refused,
            message: format!("`{key}` is not supported: {reason}"),
            hint: None,
        }
    }

    pub(super) fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A shorter text is part of too many words to be replaced in messages.
const SHORTEST_SECRET: usize = 4;

impl<'s> Collector<'s> {
    pub(super) fn new(source: &'s SourceText, secrets: Vec<String>) -> Self {
        let mut secrets = secrets;
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        // Of two secrets of which one contains the other, the longer one must go first.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self {
            source,
            secrets,
            found: Vec::new(),
        }
    }

    /// Adds a problem at a place; without one, at the start of the file.
    pub(super) fn add(&mut self, span: Option<Span>, finding: Finding) {
        let offset = span.map_or(0, |span| span.start);
        let (line, column) = self.source.position(offset);
        let problem = Problem {
            path: self.source.path.clone(),
            severity: finding.severity,
            kind: finding.kind,
            line,
            column,
            message: self.without_secrets(finding.message),
            hint: finding.hint.map(|hint| self.without_secrets(hint)),
        };
        self.found.push((offset, problem));
    }

    /// Returns the line of a place.
    pub(super) fn line(&self, span: &Span) -> usize {
        self.source.position(span.start).0
    }

    /// Returns all problems by position, each one once.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|(offset, _)| *offset);
        self.found.dedup();
        self.found.into_iter().map(|(_, problem)| problem).collect()
    }

    fn without_secrets(&self, mut text: String) -> String {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "[MASKED]");
            }
        }
        text
    }
}
