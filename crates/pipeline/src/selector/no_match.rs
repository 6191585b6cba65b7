use super::NamedJob;
use crate::glob::{GlobError, NameGlob};
use indexmap::{IndexMap, IndexSet};
use thiserror::Error;
use yaml::suggest::nearest;

/// How many values of one variable are told.
const MOST_VALUES: usize = 8;

/// Why nothing is meant by what somebody wrote for jobs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoMatch {
    /// No job has the name.
    #[error("there is no job `{name}`{}", suggestion(.nearest.as_deref()))]
    Job {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// No name fits the glob.
    #[error("no job fits `{glob}`{}", suggestion(.nearest.as_deref()))]
    Glob {
        /// The glob that was asked for.
        glob: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// The job has no copies that can be told apart by variables.
    #[error("`{name}` has no copies with variables: only `parallel:matrix` makes such")]
    NoCopies {
        /// The job.
        name: String,
    },
    /// No copy has the variable.
    #[error("the copies of `{name}` have no variable `{key}`{}; they have {known}", suggestion(.nearest.as_deref()))]
    Variable {
        /// The job.
        name: String,
        /// The variable that was asked for.
        key: String,
        /// The variable that was probably meant.
        nearest: Option<String>,
        /// All variables with their values, for people.
        known: String,
    },
    /// No copy has the values.
    #[error("no copy of `{name}` has {wanted}{}; there is {known}", suggestion(.nearest.as_deref()))]
    Values {
        /// The job.
        name: String,
        /// What was asked for.
        wanted: String,
        /// The value that was probably meant.
        nearest: Option<String>,
        /// All variables with their values, for people.
        known: String,
    },
    /// It is a glob that stands for too much.
    #[error("`{text}` cannot be compared with names: {error}")]
    Unusable {
        /// What was asked for.
        text: String,
        /// What is the matter.
        error: GlobError,
    },
}

impl NoMatch {
    /// Returns the error for a name that no job has.
    pub fn job<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Self {
        Self::Job {
            name: name.to_owned(),
            nearest: nearest(name, known).map(ToOwned::to_owned),
        }
    }

    pub(super) fn glob<'n>(glob: &str, known: impl Iterator<Item = &'n str>) -> Self {
        // Without its signs it may be near to a name: `tset*` was meant to find `test`.
        let plain: String = glob.chars().filter(|it| !"*?[]{}".contains(*it)).collect();
        Self::Glob {
            glob: glob.to_owned(),
            nearest: nearest(&plain, known).map(ToOwned::to_owned),
        }
    }

    pub(super) fn variable(name: &str, key: &str, copies: &[NamedJob<'_>]) -> Self {
        let known = values(copies);
        Self::Variable {
            name: name.to_owned(),
            key: key.to_owned(),
            nearest: nearest(key, known.keys().copied()).map(ToOwned::to_owned),
            known: told(&known),
        }
    }

    pub(super) fn values(name: &str, conditions: &[(&str, &str)], copies: &[NamedJob<'_>]) -> Self {
        let known = values(copies);
        let wanted: Vec<_> = conditions
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let near = conditions.iter().find_map(|(key, value)| {
            let values = known.get(key)?;
            let may_be_there = values.contains(value) || NameGlob::has_signs(value);
            (!may_be_there).then(|| nearest(value, values.iter().copied()))?
        });
        Self::Values {
            name: name.to_owned(),
            wanted: wanted.join(" and "),
            nearest: near.map(ToOwned::to_owned),
            known: told(&known),
        }
    }
}

/// Returns the values that copies have, by the names of the variables.
fn values<'j>(copies: &[NamedJob<'j>]) -> IndexMap<&'j str, IndexSet<&'j str>> {
    let mut known: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
    for (key, value) in copies.iter().flat_map(|job| job.matrix) {
        known.entry(key).or_default().insert(value);
    }
    known
}

fn told(known: &IndexMap<&str, IndexSet<&str>>) -> String {
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
