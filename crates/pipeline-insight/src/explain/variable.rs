use super::Location;
use pipeline::context::{ExternalSource, ExternalVariable, Level};
use serde::Serialize;

/// A variable of a job and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedVariable {
    /// Its name.
    pub name: String,
    /// Its value without references replaced; `[MASKED]` for a secret.
    pub value: String,
    /// Its value with references replaced, if that changes it.
    pub expanded: Option<String>,
    /// Whether references in it are not replaced.
    pub is_raw: bool,
    /// Whether the job gets the path of a file with the value.
    pub is_file: bool,
    /// Whether the value is hidden in logs.
    pub is_masked: bool,
    /// Its origin.
    pub source: VariableSource,
    /// The origins of variables of the same name that it overrides, in order of precedence.
    pub shadows: Vec<VariableSource>,
}

/// The origin of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VariableSource {
    /// It is predefined by GitLab.
    Predefined,
    /// The top level of the file defines it.
    Global {
        /// The location.
        place: Location,
    },
    /// The matching rule of `workflow` defines it.
    WorkflowRule {
        /// The location.
        place: Location,
    },
    /// The job defines it, directly or through `extends`.
    Job {
        /// The location.
        place: Location,
    },
    /// It is a value of the job's `parallel:matrix`.
    Matrix {
        /// The location.
        place: Location,
    },
    /// The matching rule of the job defines it.
    Rule {
        /// The location.
        place: Location,
    },
    /// It is given from outside the file.
    #[serde(rename = "given")]
    External {
        /// The level at which it is defined.
        level: Level,
        /// How it is given.
        source: ExternalSource,
        /// The environments whose jobs get it; `*` matches any text.
        scope: String,
        /// Whether only pipelines on protected branches and tags get it.
        is_protected: bool,
    },
}

/// The variables of a job, or those that all jobs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedVariables {
    /// The job; absent for variables that all jobs share.
    pub job: Option<String>,
    /// The variables, in order of their origins' precedence.
    pub variables: Vec<ExplainedVariable>,
    /// The external variables that do not apply.
    pub left_out: Vec<LeftOutVariable>,
}

/// An external variable that does not apply to this job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutVariable {
    /// Its name.
    pub name: String,
    /// Its origin.
    pub source: VariableSource,
    /// The reason.
    pub reason: LeftOutReason,
}

/// Why an external variable does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It is only for protected branches and tags.
    Protected,
    /// It is for other environments.
    Scope,
}

impl VariableSource {
    /// Returns the origin of an external variable.
    pub(super) fn of_external(external: &ExternalVariable) -> Self {
        Self::External {
            level: external.level,
            source: external.source.clone(),
            scope: external.scope.clone(),
            is_protected: external.is_protected,
        }
    }

    /// Returns the rank of this origin; 0 has the highest precedence.
    pub(super) fn rank(&self) -> usize {
        match self {
            Self::External { level, .. } => match level {
                Level::Pipeline => 0,
                Level::Project => 1,
                Level::Group => 2,
                Level::Instance => 3,
            },
            Self::Rule { .. } => 4,
            Self::Matrix { .. } => 5,
            Self::Job { .. } => 6,
            Self::WorkflowRule { .. } => 7,
            Self::Global { .. } => 8,
            Self::Predefined => 9,
        }
    }
}
