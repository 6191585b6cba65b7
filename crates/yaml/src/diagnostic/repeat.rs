use super::Diagnostic;
use crate::source::Span;
use std::collections::HashMap;

/// The findings of jobs by what they say, to tell of a mistake once though many jobs took it from
/// one place, by `extends` or an alias.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats {
    job: Option<CurrentJob>,
    /// How often a job was entered.
    entered: usize,
    told: HashMap<Told, Place>,
}

/// The job whose findings come now.
#[derive(Debug, Clone)]
struct CurrentJob {
    name: String,
    /// The name as paths have it, in small letters.
    small: String,
}

/// Where a finding is in the list, and which job had it last.
#[derive(Debug, Clone, Copy)]
struct Place {
    index: usize,
    job: usize,
}

/// A finding that is in the list already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Earlier {
    /// Its place in the list.
    pub(super) index: usize,
    /// Whether another job had it.
    pub(super) is_of_other_job: bool,
}

/// What makes two findings of different jobs the same: all but the job's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Told {
    code: &'static str,
    span: Span,
    words: String,
}

impl Repeats {
    /// Says whose findings come next; nothing stands for the file itself.
    pub(super) fn enter_job(&mut self, name: Option<&str>) {
        self.entered += 1;
        self.job = name.map(|name| CurrentJob {
            name: name.to_owned(),
            small: name.to_lowercase(),
        });
    }

    /// Returns where a finding is already; otherwise notes that it will be at `index`.
    pub(super) fn find_or_note(&mut self, finding: &Diagnostic, index: usize) -> Option<Earlier> {
        let CurrentJob { name, small } = self.job.as_ref()?;
        let words = finding.message.strip_prefix("jobs:");
        let words = words.unwrap_or(&finding.message);
        let rest = words.strip_prefix(name.as_str());
        let rest = rest.or_else(|| words.strip_prefix(small.as_str()));
        let told = Told {
            code: finding.code,
            span: finding.span?,
            words: rest.unwrap_or(words).to_owned(),
        };
        let job = self.entered;
        let place = self.told.entry(told).or_insert(Place { index, job });
        let before = std::mem::replace(&mut place.job, job);
        (place.index != index).then_some(Earlier {
            index: place.index,
            is_of_other_job: before != job,
        })
    }
}
