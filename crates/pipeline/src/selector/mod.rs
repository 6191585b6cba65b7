//! How people name jobs: by a name, a glob of names, or the variables of copies.
//!
//! A selector is compared with the jobs there are, which makes its meaning plain: a text that is
//! the name of a job, or of all copies that `parallel` makes of it, means just that, whatever signs it
//! has. Else `test[OS=debian,ARCH=arm*]` means the copies that `parallel:matrix` gave these values, and
//! a text with `*`, `?`, `[..]` or `{a,b}` the jobs whose names fit.

mod conditions;
mod list;
mod no_match;

pub use list::split_list;
pub use no_match::NoMatch;

use crate::context::group_name;
use crate::glob::NameGlob;
use conditions::{Condition, split};
use std::collections::BTreeSet;

/// A job as a selector sees it.
#[derive(Debug, Clone, Copy)]
pub struct NamedJob<'j> {
    name: &'j str,
    group: &'j str,
    matrix: &'j [(String, String)],
}

impl<'j> NamedJob<'j> {
    /// Returns a job of this name, to which `parallel:matrix` gave these values.
    pub fn new(name: &'j str, matrix: &'j [(String, String)]) -> Self {
        let group = group_name(name);
        Self {
            name,
            group,
            matrix,
        }
    }

    /// Returns the same, for a job that is known to be no copy of another.
    #[must_use]
    pub fn alone(self) -> Self {
        let group = self.name;
        Self { group, ..self }
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.group == name
    }
}

/// What a selector means among some jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meant {
    /// The places of the jobs, in order; never empty.
    pub places: Vec<usize>,
    /// Whether a job's own name was said in full, rather than a glob.
    pub is_named: bool,
}

/// Finds the jobs that somebody means by `text`.
///
/// # Errors
///
/// When there is none.
///
/// # Examples
///
/// ```
/// use pipeline::selector::{NamedJob, find};
///
/// let jobs = ["build", "test 1/2", "test 2/2"].map(|name| NamedJob::new(name, &[]));
/// assert_eq!(find("test", &jobs)?.places, [1, 2]);
/// assert_eq!(find("*2/2", &jobs)?.places, [2]);
/// assert!(find("deploy*", &jobs).is_err());
/// # Ok::<(), pipeline::selector::NoMatch>(())
/// ```
pub fn find(text: &str, jobs: &[NamedJob<'_>]) -> Result<Meant, NoMatch> {
    let places = fitting(jobs, |job| job.is_named(text));
    if !places.is_empty() {
        let is_named = true;
        return Ok(Meant { places, is_named });
    }
    if let Some((name, conditions)) = split(text) {
        return copies(text, name, &conditions, jobs);
    }
    by_glob(text, jobs)
}

/// Returns whether a text may mean other jobs than the one of that name.
pub fn may_be_several(text: &str) -> bool {
    NameGlob::has_signs(text) || split(text).is_some()
}

fn fitting(jobs: &[NamedJob<'_>], fits: impl Fn(&NamedJob<'_>) -> bool) -> Vec<usize> {
    let jobs = jobs.iter().enumerate();
    jobs.filter(|(_, job)| fits(job))
        .map(|(at, _)| at)
        .collect()
}

fn known<'j>(jobs: &[NamedJob<'j>]) -> impl Iterator<Item = &'j str> {
    jobs.iter().flat_map(|job| [job.name, job.group])
}

fn by_glob(text: &str, jobs: &[NamedJob<'_>]) -> Result<Meant, NoMatch> {
    if !NameGlob::has_signs(text) {
        return Err(NoMatch::job(text, known(jobs)));
    }
    let glob = NameGlob::new(text).map_err(|error| NoMatch::Unusable {
        text: text.to_owned(),
        error,
    })?;
    let places = fitting(jobs, |job| {
        glob.is_match(job.name) || glob.is_match(job.group)
    });
    if places.is_empty() {
        return Err(NoMatch::glob(text, known(jobs)));
    }
    let is_named = false;
    Ok(Meant { places, is_named })
}

/// Finds copies by their variables.
fn copies(
    text: &str,
    name: &str,
    conditions: &[(&str, &str)],
    jobs: &[NamedJob<'_>],
) -> Result<Meant, NoMatch> {
    let base = find_base(name, jobs)?;
    let of_base: Vec<_> = base.places.iter().map(|&at| jobs[at]).collect();
    if of_base.iter().all(|job| job.matrix.is_empty()) {
        return Err(NoMatch::NoCopies {
            name: name.to_owned(),
        });
    }
    let mut places: BTreeSet<usize> = base.places.iter().copied().collect();
    for &(key, value) in conditions {
        let values = of_base.iter().flat_map(|job| job.matrix);
        let values: Vec<&str> = values
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .collect();
        if values.is_empty() {
            return Err(NoMatch::variable(name, key, &of_base));
        }
        let condition = Condition::new(key, value, &values).map_err(|error| NoMatch::Unusable {
            text: text.to_owned(),
            error,
        })?;
        places.retain(|&at| condition.holds(jobs[at].matrix));
    }
    if places.is_empty() {
        return Err(NoMatch::values(name, conditions, &of_base));
    }
    Ok(Meant {
        places: places.into_iter().collect(),
        is_named: base.is_named,
    })
}

/// Finds the jobs in front of the brackets.
fn find_base(name: &str, jobs: &[NamedJob<'_>]) -> Result<Meant, NoMatch> {
    let places = fitting(jobs, |job| job.is_named(name));
    if places.is_empty() {
        return by_glob(name, jobs);
    }
    let is_named = true;
    Ok(Meant { places, is_named })
}

#[cfg(test)]
mod tests;
