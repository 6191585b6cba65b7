use executor_core::variable::{JobVariable, JobVariables};
use std::collections::BTreeSet;

/// The phase from which on a predefined variable is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before the pipeline exists: visible to `include`.
    PrePipeline,
    /// Once the pipeline exists: visible to `rules`.
    Pipeline,
    /// Only in running jobs, like ids and tokens.
    Job,
}

/// The variables available in a phase, in the order of their definition.
pub(in crate::context) struct Values {
    phase: Phase,
    list: Vec<JobVariable>,
}

impl Values {
    /// Returns an empty list of the variables available in `phase`.
    pub(in crate::context) fn until(phase: Phase) -> Self {
        let list = Vec::new();
        Self { phase, list }
    }

    /// Adds a variable that is available from `phase` on.
    pub(in crate::context) fn add(&mut self, phase: Phase, name: &str, value: impl Into<String>) {
        if phase <= self.phase {
            self.list.push(JobVariable {
                // The value is data: `$HOME` in a commit message is not a reference.
                raw: true,
                ..JobVariable::public(name, value)
            });
        }
    }

    /// Adds a variable that is available from `phase` on, if there is a value.
    pub(in crate::context) fn add_some(
        &mut self,
        phase: Phase,
        name: &str,
        value: Option<impl Into<String>>,
    ) {
        if let Some(value) = value {
            self.add(phase, name, value);
        }
    }

    /// Adds a variable unchanged.
    pub(in crate::context) fn push(&mut self, phase: Phase, variable: JobVariable) {
        if phase <= self.phase {
            self.list.push(variable);
        }
    }

    /// Returns the variables, except unset ones.
    pub(in crate::context) fn into_variables(self, unset: &BTreeSet<String>) -> JobVariables {
        let list = self.list.into_iter();
        list.filter(|variable| !unset.contains(&variable.key))
            .collect()
    }
}
