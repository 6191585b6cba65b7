//! The variables a vector names.

use executor_core::variable::JobVariable;
use indexmap::IndexMap;
use serde::Deserialize;
use std::collections::HashMap;

/// Variables by name, each as its value or with more about it; null means not defined.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct VariablesInput(IndexMap<String, Option<VariableInput>>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum VariableInput {
    Plain(String),
    Detailed {
        value: String,
        #[serde(default)]
        raw: bool,
        #[serde(default)]
        file: bool,
        #[serde(default)]
        masked: bool,
    },
}

impl VariablesInput {
    /// Returns the values by name.
    pub(super) fn values(&self) -> HashMap<String, String> {
        let variables = self.variables().into_iter();
        variables
            .map(|variable| (variable.key, variable.value))
            .collect()
    }

    /// Returns the variables in their order.
    pub(super) fn variables(&self) -> Vec<JobVariable> {
        let given = self.0.iter();
        let given = given.filter_map(|(name, input)| Some((name, input.as_ref()?)));
        given.map(|(name, input)| input.variable(name)).collect()
    }
}

impl VariableInput {
    fn variable(&self, name: &str) -> JobVariable {
        match self {
            Self::Plain(value) => JobVariable::public(name, value),
            Self::Detailed {
                value,
                raw,
                file,
                masked,
            } => JobVariable {
                raw: *raw,
                file: *file,
                masked: *masked,
                ..JobVariable::public(name, value)
            },
        }
    }
}
