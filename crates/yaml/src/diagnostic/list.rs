use super::repeat::Repeats;
use super::{Diagnostic, DiagnosticRecord, Renderer, Severity, Unread};
use crate::source::{FileId, SourceMap};
use std::fmt;

/// All diagnostics of one pipeline, with the texts they point into.
///
/// `Display` shows errors and warnings with the marked lines.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    sources: SourceMap,
    unread: Unread,
    repeats: Repeats,
}

/// How many includes of the chain to a file are shown with a diagnostic in it.
const SHOWN_INCLUDES: usize = 3;

impl Diagnostics {
    /// Returns an empty list for a text that may contain secrets, so that its lines are never
    /// shown; messages call the text `name`.
    pub fn of_private_file(name: &str, text: &str) -> (Self, FileId) {
        let mut diagnostics = Self::default();
        let file = diagnostics.sources.add_private(name, text);
        (diagnostics, file)
    }

    /// Adds a diagnostic.
    ///
    /// In an included file, it also gets the location of the include. A diagnostic about something
    /// missing is dropped if an unread part may have it. If another job has the same diagnostic at
    /// the same location, it is only counted.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if self.unread.explains(diagnostic.code) {
            return;
        }
        if let Some(earlier) = self.repeats.find_or_note(&diagnostic, self.list.len()) {
            self.list[earlier.index].more_jobs += u32::from(earlier.is_of_other_job);
            return;
        }
        if let Some(span) = diagnostic.span {
            for at in self.sources.includes_of(span.file).take(SHOWN_INCLUDES) {
                diagnostic.related.push((at, "included here".to_owned()));
            }
        }
        self.list.push(diagnostic);
    }

    /// Sets the job of the following diagnostics, so that those that jobs inherit from one location
    /// are reported once; `None` means the file itself.
    pub fn enter_job(&mut self, name: Option<&str>) {
        self.repeats.enter_job(name);
    }

    /// Records that a part could not be read, so that consequences are not reported.
    pub fn note_unread(&mut self, unread: Unread) {
        self.unread = self.unread.max(unread);
    }

    /// Returns the part that could not be read.
    pub fn unread(&self) -> Unread {
        self.unread
    }

    /// Returns whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Returns whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the diagnostics in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Changes the wording of each diagnostic.
    pub fn reword(&mut self, reword: impl FnMut(&mut Diagnostic)) {
        self.list.iter_mut().for_each(reword);
    }

    /// Returns the errors.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Error)
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Warning)
    }

    /// Returns the notes.
    pub fn notes(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Note)
    }

    /// Returns the diagnostics of one severity as records for programs.
    pub fn records(&self, severity: Severity) -> Vec<DiagnosticRecord> {
        self.of(severity)
            .map(|diagnostic| DiagnosticRecord::new(diagnostic, &self.sources))
            .collect()
    }

    /// Returns one diagnostic as text with the marked lines.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        Renderer::plain().render(diagnostic, &self.sources)
    }

    /// Returns the texts that the diagnostics point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns the texts, for additions.
    pub fn sources_mut(&mut self) -> &mut SourceMap {
        &mut self.sources
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        let has_severity = move |diagnostic: &&Diagnostic| diagnostic.severity == severity;
        self.list.iter().filter(has_severity)
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |diagnostic: &&Diagnostic| diagnostic.severity < Severity::Note;
        for (number, diagnostic) in self.list.iter().filter(shown).enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            write!(f, "{gap}{}", self.render(diagnostic))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A value read from a pipeline file, with its diagnostics.
#[derive(Debug, Clone)]
pub struct Checked<T> {
    /// The value; absent when the errors leave nothing usable.
    pub value: Option<T>,
    /// The diagnostics.
    pub diagnostics: Diagnostics,
}

impl<T> Checked<T> {
    /// Maps the value, if there is one, with access to the diagnostics.
    pub fn and_then<U>(
        mut self,
        next: impl FnOnce(T, &mut Diagnostics) -> Option<U>,
    ) -> Checked<U> {
        let diagnostics = &mut self.diagnostics;
        Checked {
            value: self.value.and_then(|value| next(value, diagnostics)),
            diagnostics: self.diagnostics,
        }
    }

    /// Returns the value with the warnings.
    ///
    /// # Errors
    ///
    /// Returns the diagnostics when one of them is an error.
    pub fn into_result(self) -> Result<(T, Diagnostics), Box<Diagnostics>> {
        match self.value {
            Some(value) if !self.diagnostics.has_errors() => Ok((value, self.diagnostics)),
            _ => Err(Box::new(self.diagnostics)),
        }
    }
}
