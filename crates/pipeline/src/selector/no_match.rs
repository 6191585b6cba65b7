use super::NamedJob;
use crate::glob::{GlobError, NameGlob};
use indexmap::{IndexMap, IndexSet};
use thiserror::Error;
use yaml::suggest::{first_names, nearest};

/// How many values of one variable are listed.
const MOST_VALUES: usize = 8;

/// How many jobs are listed.
const MOST_NAMES: usize = 20;

/// Why a selector selects no job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoMatch {
    /// No job has the name.
    #[error("there is no job `{name}`{}", suggestion(.nearest.as_deref()))]
    Job {
        /// The name in the selector.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
        /// The names of all jobs.
        known: Vec<String>,
    },
    /// No name matches the glob.
    #[error("no job matches `{glob}`{}", suggestion(.nearest.as_deref()))]
    Glob {
        /// The glob.
        glob: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// The job has no instances with variables.
    #[error("`{name}` has no instances with variables: it has no `parallel:matrix`")]
    NoInstances {
        /// The job.
        name: String,
    },
    /// No instance has the variable.
    #[error("the instances of `{name}` have no variable `{key}`{}; they have {known}", suggestion(.nearest.as_deref()))]
    Variable {
        /// The job.
        name: String,
        /// The variable in the selector.
        key: String,
        /// The most similar variable.
        nearest: Option<String>,
        /// All variables with their values, for display.
        known: String,
    },
    /// No instance has the values.
    #[error("no instance of `{name}` has {wanted}{}; the values are {known}", suggestion(.nearest.as_deref()))]
    Values {
        /// The job.
        name: String,
        /// The conditions or text in the selector.
        wanted: String,
        /// The most similar value.
        nearest: Option<String>,
        /// All variables with their values, for display.
        known: String,
    },
    /// It is a glob with too many alternatives.
    #[error("`{text}` cannot be matched with names: {error}")]
    Unusable {
        /// The conditions or text in the selector.
        text: String,
        /// The error of the glob.
        error: GlobError,
    },
}

impl NoMatch {
    /// Returns the error for a name that no job has.
    pub fn job<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Self {
        Self::Job {
            name: name.to_owned(),
            nearest: nearest(name, known.clone()).map(ToOwned::to_owned),
            known: known
                .collect::<IndexSet<_>>()
                .into_iter()
                .map(ToOwned::to_owned)
                .collect(),
        }
    }

    /// Returns what the user can do, as a sentence for a `help` line.
    pub fn help(&self) -> Option<String> {
        let Self::Job { known, .. } = self else {
            return None;
        };
        let names = first_names(known, MOST_NAMES);
        (!names.is_empty()).then(|| format!("the jobs are {names}"))
    }

    pub(super) fn glob<'n>(glob: &str, known: impl Iterator<Item = &'n str>) -> Self {
        // Without wildcards it may be similar to a name: `tset*` was meant to match `test`.
        let plain: String = glob.chars().filter(|it| !"*?[]{}".contains(*it)).collect();
        Self::Glob {
            glob: glob.to_owned(),
            nearest: nearest(&plain, known).map(ToOwned::to_owned),
        }
    }

    pub(super) fn variable(name: &str, key: &str, instances: &[NamedJob<'_>]) -> Self {
        let known = values(instances);
        Self::Variable {
            name: name.to_owned(),
            key: key.to_owned(),
            nearest: nearest(key, known.keys().copied()).map(ToOwned::to_owned),
            known: listed(&known),
        }
    }

    /// Returns the error for matrix values that no instance has.
    pub(crate) fn values(
        name: &str,
        conditions: &[(&str, &str)],
        instances: &[NamedJob<'_>],
    ) -> Self {
        let known = values(instances);
        let wanted: Vec<_> = conditions
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let near = conditions.iter().find_map(|(key, value)| {
            let values = known.get(key)?;
            let may_be_there = values.contains(value) || NameGlob::has_wildcards(value);
            (!may_be_there).then(|| nearest(value, values.iter().copied()))?
        });
        Self::Values {
            name: name.to_owned(),
            wanted: wanted.join(" and "),
            nearest: near.map(ToOwned::to_owned),
            known: listed(&known),
        }
    }
}

/// Returns the values of instances by variable.
fn values<'j>(instances: &[NamedJob<'j>]) -> IndexMap<&'j str, IndexSet<&'j str>> {
    let mut known: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
    for (key, value) in instances.iter().flat_map(|job| job.matrix) {
        known.entry(key).or_default().insert(value);
    }
    known
}

fn listed(known: &IndexMap<&str, IndexSet<&str>>) -> String {
    let variables = known.iter().map(|(key, values)| {
        let shown: Vec<_> = values.iter().take(MOST_VALUES).copied().collect();
        let more = values.len() - shown.len();
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{key}={}{rest}", shown.join("|"))
    });
    variables.collect::<Vec<_>>().join(", ")
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
