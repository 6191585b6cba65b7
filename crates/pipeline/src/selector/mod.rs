//! Selects jobs by a name, a glob of names, or the variables of instances.
//!
//! A selector is resolved against the existing jobs: the name of a job, or the common name of its
//! `parallel` instances, selects exactly that, whatever characters it contains. Otherwise
//! `test[OS=debian,ARCH=arm*]` selects the instances with these `parallel:matrix` values, and a
//! text with `*`, `?`, `[..]` or `{a,b}` the jobs whose names match.

mod conditions;
mod no_match;

pub use conditions::split_list;
pub use no_match::NoMatch;

use crate::context::group_name;
use crate::glob::NameGlob;
use conditions::{Condition, split};
use std::collections::BTreeSet;

/// The names of a job that selectors match.
#[derive(Debug, Clone, Copy)]
pub struct NamedJob<'j> {
    name: &'j str,
    group: &'j str,
    matrix: &'j [(String, String)],
}

impl<'j> NamedJob<'j> {
    /// Returns a job of this name with these `parallel:matrix` values.
    pub fn new(name: &'j str, matrix: &'j [(String, String)]) -> Self {
        let group = group_name(name);
        Self {
            name,
            group,
            matrix,
        }
    }

    /// Returns the same for a job that is known not to be a `parallel` instance.
    #[must_use]
    pub fn alone(self) -> Self {
        let group = self.name;
        Self { group, ..self }
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.group == name
    }
}

/// The jobs that a selector selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedJobs {
    /// The indices of the jobs, in order; never empty in a result of [`find`].
    pub indices: Vec<usize>,
    /// Whether the selector is a full name rather than a glob.
    pub is_named: bool,
}

/// Finds the jobs that `text` selects.
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
/// assert_eq!(find("test", &jobs)?.indices, [1, 2]);
/// assert_eq!(find("*2/2", &jobs)?.indices, [2]);
/// assert!(find("deploy*", &jobs).is_err());
/// # Ok::<(), pipeline::selector::NoMatch>(())
/// ```
pub fn find(text: &str, jobs: &[NamedJob<'_>]) -> Result<SelectedJobs, NoMatch> {
    let indices = matching(jobs, |job| job.is_named(text));
    if !indices.is_empty() {
        let is_named = true;
        return Ok(SelectedJobs { indices, is_named });
    }
    if let Some((name, conditions)) = split(text) {
        return instances(text, name, &conditions, jobs);
    }
    by_glob(text, jobs)
}

/// Returns whether a text may select other jobs than the one of that name.
pub fn may_be_several(text: &str) -> bool {
    NameGlob::has_wildcards(text) || split(text).is_some()
}

fn matching(jobs: &[NamedJob<'_>], is_match: impl Fn(&NamedJob<'_>) -> bool) -> Vec<usize> {
    let jobs = jobs.iter().enumerate();
    jobs.filter(|(_, job)| is_match(job))
        .map(|(at, _)| at)
        .collect()
}

fn known<'j>(jobs: &[NamedJob<'j>]) -> impl Iterator<Item = &'j str> + Clone {
    jobs.iter().flat_map(|job| [job.name, job.group])
}

fn by_glob(text: &str, jobs: &[NamedJob<'_>]) -> Result<SelectedJobs, NoMatch> {
    if !NameGlob::has_wildcards(text) {
        return Err(NoMatch::job(text, known(jobs)));
    }
    let glob = NameGlob::new(text).map_err(|error| NoMatch::Unusable {
        text: text.to_owned(),
        error,
    })?;
    let indices = matching(jobs, |job| {
        glob.is_match(job.name) || glob.is_match(job.group)
    });
    if indices.is_empty() {
        return Err(NoMatch::glob(text, known(jobs)));
    }
    let is_named = false;
    Ok(SelectedJobs { indices, is_named })
}

/// Finds instances by their variables.
fn instances(
    text: &str,
    name: &str,
    conditions: &[(&str, &str)],
    jobs: &[NamedJob<'_>],
) -> Result<SelectedJobs, NoMatch> {
    let base = find_base(name, jobs)?;
    let of_base: Vec<_> = base.indices.iter().map(|&at| jobs[at]).collect();
    if of_base.iter().all(|job| job.matrix.is_empty()) {
        return Err(NoMatch::NoInstances {
            name: name.to_owned(),
        });
    }
    let mut indices: BTreeSet<usize> = base.indices.iter().copied().collect();
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
        indices.retain(|&at| condition.holds(jobs[at].matrix));
    }
    if indices.is_empty() {
        return Err(NoMatch::values(name, conditions, &of_base));
    }
    Ok(SelectedJobs {
        indices: indices.into_iter().collect(),
        is_named: base.is_named,
    })
}

/// Finds the jobs named before the brackets.
fn find_base(name: &str, jobs: &[NamedJob<'_>]) -> Result<SelectedJobs, NoMatch> {
    let indices = matching(jobs, |job| job.is_named(name));
    if indices.is_empty() {
        return by_glob(name, jobs);
    }
    let is_named = true;
    Ok(SelectedJobs { indices, is_named })
}

#[cfg(test)]
mod tests;
