use super::Diagnostic;
use crate::source::Span;
use std::collections::HashMap;

/// The diagnostics of jobs by content, so that a mistake that many jobs inherit from one location,
/// by `extends` or an alias, is reported once.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    job: Option<CurrentJob>,
    /// The number of jobs entered so far.
    entered: usize,
    reported: HashMap<Identity, Position>,
}

/// The job of the current diagnostics.
#[derive(Debug, Clone)]
struct CurrentJob {
    name: String,
    /// The name in lower case, as in paths.
    lower: String,
}

/// The index of a diagnostic in the list, and the job that had it last.
#[derive(Debug, Clone, Copy)]
struct Position {
    index: usize,
    job: usize,
}

/// An equal diagnostic that is already in the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Earlier {
    /// Its index in the list.
    pub(super) index: usize,
    /// Whether it is of another job.
    pub(super) is_of_other_job: bool,
}

/// The content that two equal diagnostics of different jobs share: all but the job's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    code: &'static str,
    span: Span,
    words: String,
}

impl Repeats {
    /// Sets the job of the following diagnostics; `None` means the file itself.
    pub(super) fn enter_job(&mut self, name: Option<&str>) {
        self.entered += 1;
        self.job = name.map(|name| CurrentJob {
            name: name.to_owned(),
            lower: name.to_lowercase(),
        });
    }

    /// Returns an earlier equal diagnostic; otherwise records that this one will be at `index`.
    pub(super) fn find_or_note(
        &mut self,
        diagnostic: &Diagnostic,
        index: usize,
    ) -> Option<Earlier> {
        let CurrentJob { name, lower } = self.job.as_ref()?;
        let words = diagnostic.message.strip_prefix("jobs:");
        let words = words.unwrap_or(&diagnostic.message);
        let rest = words.strip_prefix(name.as_str());
        let rest = rest.or_else(|| words.strip_prefix(lower.as_str()));
        let identity = Identity {
            code: diagnostic.code,
            span: diagnostic.span?,
            words: rest.unwrap_or(words).to_owned(),
        };
        let job = self.entered;
        let position = self
            .reported
            .entry(identity)
            .or_insert(Position { index, job });
        let before = std::mem::replace(&mut position.job, job);
        (position.index != index).then_some(Earlier {
            index: position.index,
            is_of_other_job: before != job,
        })
    }
}
