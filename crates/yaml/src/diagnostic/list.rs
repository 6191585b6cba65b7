use super::repeat::Repeats;
use super::{Diagnostic, DiagnosticRecord, Lacks, Renderer, Severity};
use crate::source::{FileId, SourceMap};
use std::fmt;

/// All findings about one pipeline, with the texts they point into.
///
/// `Display` shows errors and warnings for people, each with its lines and carets under the places.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    sources: SourceMap,
    lacks: Lacks,
    repeats: Repeats,
}

/// How many of the includes that brought a file in are shown with a finding in it.
const SHOWN_INCLUDES: usize = 3;

impl Diagnostics {
    /// Returns no findings yet, for a text of their own that may hold secrets, so that none of its
    /// lines is shown; `name` is what messages call it.
    pub fn of_private_file(name: &str, text: &str) -> (Self, FileId) {
        let mut diagnostics = Self::default();
        let file = diagnostics.sources.add_private(name, text);
        (diagnostics, file)
    }

    /// Adds a finding.
    ///
    /// One in an included file gets the place of the include too. One that something is missing is
    /// dropped when that may be in what could not be read. One that another job has already, from
    /// the same place, is only counted there.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        if self.lacks.explains(diagnostic.code) {
            return;
        }
        if let Some(earlier) = self.repeats.find_or_note(&diagnostic, self.list.len()) {
            self.list[earlier.index].more_jobs += usize::from(earlier.is_of_other_job);
            return;
        }
        if let Some(span) = diagnostic.span {
            for at in self.sources.includes_of(span.file).take(SHOWN_INCLUDES) {
                diagnostic.related.push((at, "included here".to_owned()));
            }
        }
        self.list.push(diagnostic);
    }

    /// Says whose findings come next, so that what jobs take from one place is told once for all of
    /// them; nothing stands for the file itself.
    pub fn enter_job(&mut self, name: Option<&str>) {
        self.repeats.enter_job(name);
    }

    /// Notes that a part could not be read, so that nobody is told twice what is missing.
    pub fn lack(&mut self, lacks: Lacks) {
        self.lacks = self.lacks.max(lacks);
    }

    /// Returns what could not be read.
    pub fn lacks(&self) -> Lacks {
        self.lacks
    }

    /// Returns whether the pipeline cannot run.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Returns whether there is no finding at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the findings in the order they were made.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Words each finding differently.
    pub fn reword(&mut self, reword: impl FnMut(&mut Diagnostic)) {
        self.list.iter_mut().for_each(reword);
    }

    /// Returns the errors alone.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Error)
    }

    /// Returns the warnings alone.
    pub fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Warning)
    }

    /// Returns the notes alone.
    pub fn notes(&self) -> impl Iterator<Item = &Diagnostic> {
        self.of(Severity::Note)
    }

    /// Returns the findings of one severity in the shape machines read.
    pub fn records(&self, severity: Severity) -> Vec<DiagnosticRecord> {
        self.of(severity)
            .map(|diagnostic| DiagnosticRecord::new(diagnostic, &self.sources))
            .collect()
    }

    /// Returns one finding as text for people, with its lines and carets under the places.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        Renderer::plain().render(diagnostic, &self.sources)
    }

    /// Returns the texts the findings point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns the texts, to add to them.
    pub fn sources_mut(&mut self) -> &mut SourceMap {
        &mut self.sources
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        let fits = move |diagnostic: &&Diagnostic| diagnostic.severity == severity;
        self.list.iter().filter(fits)
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

/// A value that was read from a pipeline file, with everything found on the way.
#[derive(Debug, Clone)]
pub struct Checked<T> {
    /// The value; absent when the errors left nothing to go on with.
    pub value: Option<T>,
    /// What was found.
    pub diagnostics: Diagnostics,
}

impl<T> Checked<T> {
    /// Goes on with the value, if there is one, and the findings so far.
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
    /// Returns the findings alone when one of them is an error.
    pub fn into_result(self) -> Result<(T, Diagnostics), Box<Diagnostics>> {
        match self.value {
            Some(value) if !self.diagnostics.has_errors() => Ok((value, self.diagnostics)),
            _ => Err(Box::new(self.diagnostics)),
        }
    }
}
