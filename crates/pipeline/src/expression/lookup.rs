use executor_core::variable::JobVariables;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

/// The source of variables for expressions and rules.
///
/// Values are looked up by name, so that thousands of jobs can share layers of variables without a
/// map for each job.
pub trait Variables {
    /// Returns the value of a variable; `None` when it is not defined.
    fn get(&self, name: &str) -> Option<&str>;

    /// Returns the value of an input, as text; `None` when there is no such input.
    fn input(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Returns whether a value must be masked.
    fn is_masked(&self, _name: &str) -> bool {
        false
    }
}

impl<S: BuildHasher> Variables for HashMap<String, String, S> {
    fn get(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

impl Variables for BTreeMap<String, String> {
    fn get(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

impl Variables for JobVariables {
    fn get(&self, name: &str) -> Option<&str> {
        Self::get(self, name)
    }

    fn is_masked(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|variable| variable.masked)
    }
}

/// Pairs of names and values; the last of a name counts.
impl Variables for [(&str, &str)] {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }
}

impl<const N: usize> Variables for [(&str, &str); N] {
    fn get(&self, name: &str) -> Option<&str> {
        Variables::get(self.as_slice(), name)
    }
}
