//! Expands variables in texts, including the references in their values.

use super::JobLayers;
use crate::context::{ExpandError, Kept, expand, referenced, references, sort_and_expand};
use crate::expression::{self, MASKED};
use executor_core::variable::{JobVariable, JobVariables};
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};

impl JobLayers<'_> {
    /// Replaces the references in a text and in the inserted values; unknown variables become
    /// empty, as in the texts that GitLab expands itself.
    ///
    /// # Errors
    ///
    /// When the variables refer to each other in a cycle, or the text becomes too long.
    pub fn expand(&self, text: &str) -> Result<String, ExpandError> {
        if !text.contains(['$', '%']) {
            return Ok(text.to_owned());
        }
        let values = self.values_of(text)?;
        let look_up = |name: &str| values.get(name);
        Ok(expand(text, look_up).into_owned())
    }

    /// Returns whether a text refers to a secret, directly or through other variables.
    pub fn names_secret(&self, text: &str) -> bool {
        let values = self.values_of(text).unwrap_or_default();
        let names = referenced(text).into_iter();
        let mut found = names.filter_map(|name| values.variable(name));
        found.any(|variable| variable.masked)
    }

    /// Returns the variables that a text refers to, directly or through others, with the references
    /// among them replaced. A variable that contains a secret is a secret too.
    ///
    /// # Errors
    ///
    /// When the variables refer to one another in a cycle.
    pub fn values_of(&self, text: &str) -> Result<JobVariables, ExpandError> {
        self.values_with(text, Kept::default())
    }

    /// Does the same, but keeps some references.
    ///
    /// # Errors
    ///
    /// As [`values_of`](Self::values_of).
    pub fn values_with(&self, text: &str, kept: Kept) -> Result<JobVariables, ExpandError> {
        // In the text itself `$$` is not an escape, unlike in values.
        let names = referenced(text).into_iter().map(str::to_owned);
        let reachable = self.reachable(names.collect());
        let secrets = secrets(&reachable);
        let variables = reachable.into_values().map(|reached| reached.variable);
        let expanded = sort_and_expand(variables.collect(), kept)?;
        let expanded = expanded.into_iter().map(|variable| JobVariable {
            masked: variable.masked || secrets.contains(&variable.key),
            ..variable
        });
        Ok(expanded.collect())
    }

    /// Checks that variables and those they refer to can be expanded for the runner.
    pub(super) fn check(&self, names: Vec<String>) -> Result<(), ExpandError> {
        let reachable = self.reachable(names).into_values();
        let variables = reachable.map(|reached| reached.variable);
        sort_and_expand(variables.collect(), Kept::FOR_RUNNER).map(drop)
    }

    /// Returns the variables of these names and those they refer to, directly or through others.
    fn reachable(&self, names: Vec<String>) -> IndexMap<String, Reached> {
        let mut reachable: IndexMap<String, Reached> = IndexMap::new();
        let mut open = names;
        open.reverse();
        while let Some(name) = open.pop() {
            if reachable.contains_key(&name) {
                continue;
            }
            let Some(found) = self.find(&name) else {
                continue;
            };
            let refers_to = if found.is_raw {
                Vec::new()
            } else {
                references(found.value)
            };
            open.extend_from_slice(&refers_to);
            let reached = Reached {
                variable: found.to_variable(),
                refers_to,
            };
            reachable.insert(name, reached);
        }
        reachable
    }
}

/// Expands the references in a text for display: secrets are masked.
pub(super) fn masked(text: &str, values: &JobVariables) -> String {
    let shown = |name: &str| {
        let variable = values.variable(name)?;
        Some(if variable.masked {
            MASKED
        } else {
            &variable.value
        })
    };
    expand(text, shown).into_owned()
}

/// A reachable variable, and the names it refers to.
struct Reached {
    variable: JobVariable,
    refers_to: Vec<String>,
}

/// Returns the names of secrets and of variables that refer to one.
fn secrets(reachable: &IndexMap<String, Reached>) -> HashSet<String> {
    let mut referring: HashMap<&str, Vec<&str>> = HashMap::new();
    for (name, reached) in reachable {
        for target in &reached.refers_to {
            referring.entry(target).or_default().push(name);
        }
    }
    let is_secret = |variable: &JobVariable| variable.masked || !variable.public;
    let own = reachable
        .iter()
        .filter(|(_, reached)| is_secret(&reached.variable));
    let mut open: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
    let mut secrets = HashSet::new();
    while let Some(name) = open.pop() {
        if secrets.insert(name.to_owned()) {
            open.extend(referring.get(name).into_iter().flatten());
        }
    }
    secrets
}

/// Variables after the expansion of the references among them.
#[derive(Debug, Default)]
pub(crate) struct Values(pub(crate) JobVariables);

impl expression::Variables for Values {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)
    }

    fn is_masked(&self, name: &str) -> bool {
        let variable = self.0.variable(name);
        variable.is_some_and(|variable| variable.masked || !variable.public)
    }
}
