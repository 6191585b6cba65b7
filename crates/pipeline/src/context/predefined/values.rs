use executor_core::variable::{JobVariable, JobVariables};

/// When a predefined variable is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Before there is a pipeline: `include` sees it.
    PrePipeline,
    /// As soon as there is a pipeline: `rules` see it.
    Pipeline,
    /// Only in a job that runs, like ids and tokens.
    Job,
}

/// Names and values in the order they are defined, as far as a phase knows them.
pub(in crate::context) struct Values {
    phase: Phase,
    list: Vec<JobVariable>,
}

impl Values {
    /// Returns an empty list that takes what is known in `phase`.
    pub(in crate::context) fn until(phase: Phase) -> Self {
        let list = Vec::new();
        Self { phase, list }
    }

    /// Adds a variable that is known from `phase` on.
    pub(in crate::context) fn add(&mut self, phase: Phase, name: &str, value: impl Into<String>) {
        if phase <= self.phase {
            self.list.push(JobVariable {
                // A commit message is data: `$HOME` in it is no reference.
                raw: true,
                ..JobVariable::public(name, value)
            });
        }
    }

    /// Adds a variable that is known from `phase` on, if there is a value.
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

    /// Adds a variable as it is.
    pub(in crate::context) fn push(&mut self, phase: Phase, variable: JobVariable) {
        if phase <= self.phase {
            self.list.push(variable);
        }
    }

    pub(in crate::context) fn into_variables(self) -> JobVariables {
        self.list.into_iter().collect()
    }
}
