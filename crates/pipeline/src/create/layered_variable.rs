use crate::config::Variables;
use crate::context::ExternalVariable;
use executor_core::variable::JobVariable;
use std::fmt;

/// The origin of a variable, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Predefined for one job, such as `CI_JOB_NAME`.
    Job,
    /// Predefined for the pipeline.
    Predefined,
    /// `variables` at the top level of the file.
    Global,
    /// The workflow rule that matched.
    Workflow,
    /// `variables` of the job, and its matrix.
    Own,
    /// The rule of the job that matched.
    Rule,
    /// GitLab's variables of the user, such as `GITLAB_USER_NAME`.
    User,
    /// Set from outside the file.
    External,
}

/// A variable and the layer it was found in.
#[derive(Clone, Copy)]
pub struct LayeredVariable<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value, which may be a secret.
    pub value: &'a str,
    /// Whether references in its value are not expanded.
    pub is_raw: bool,
    /// Its origin.
    pub layer: Layer,
    /// The variable as set from outside, in [`Layer::External`].
    pub external: Option<&'a ExternalVariable>,
}

/// Omits the value, which may be a secret.
impl fmt::Debug for LayeredVariable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayeredVariable")
            .field("name", &self.name)
            .field("layer", &self.layer)
            .finish_non_exhaustive()
    }
}

impl<'a> LayeredVariable<'a> {
    pub(super) fn of_external(external: &'a ExternalVariable) -> Self {
        Self {
            name: &external.variable.key,
            value: &external.variable.value,
            is_raw: external.variable.raw,
            layer: Layer::External,
            external: Some(external),
        }
    }

    pub(super) fn written(layer: Layer, variables: &'a Variables, name: &str) -> Option<Self> {
        let (name, definition) = variables.get_key_value(name)?;
        Some(Self {
            name,
            value: definition.value(),
            is_raw: definition.is_raw(),
            layer,
            external: None,
        })
    }

    /// Returns whether the value must be masked.
    pub fn is_secret(&self) -> bool {
        let variable = self.external.map(|external| &external.variable);
        variable.is_some_and(|variable| variable.masked || !variable.public)
    }

    /// Returns the variable in the form a job receives.
    pub fn to_variable(self) -> JobVariable {
        match self.external {
            Some(external) => external.variable.clone(),
            None => JobVariable {
                raw: self.is_raw,
                ..JobVariable::public(self.name, self.value)
            },
        }
    }
}
