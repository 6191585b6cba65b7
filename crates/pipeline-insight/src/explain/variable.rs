use super::Place;
use pipeline::context::{GivenSource, GivenVariable, Level};
use serde::Serialize;

/// One variable of a job and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedVariable {
    /// Its name.
    pub name: String,
    /// Its value before references in it are replaced; `[MASKED]` for a secret.
    pub value: String,
    /// Its value with references replaced, where that is another one.
    pub expanded: Option<String>,
    /// Whether references in it are left as they are.
    pub is_raw: bool,
    /// Whether the value is written to a file whose path the job gets.
    pub is_file: bool,
    /// Whether the value is hidden in logs.
    pub is_masked: bool,
    /// Where it comes from.
    pub source: VariableSource,
    /// The variables of the same name that it wins over, the strongest first.
    pub shadows: Vec<VariableSource>,
}

/// Where a variable comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VariableSource {
    /// It is one of GitLab's own.
    Predefined,
    /// The top level of the file defines it.
    Global {
        /// Where.
        place: Place,
    },
    /// The rule of `workflow` that held defines it.
    WorkflowRule {
        /// Where.
        place: Place,
    },
    /// The job defines it, itself or by what it extends.
    Job {
        /// Where.
        place: Place,
    },
    /// It is the job's share of `parallel:matrix`.
    Matrix {
        /// Where.
        place: Place,
    },
    /// The rule that held defines it.
    Rule {
        /// Where.
        place: Place,
    },
    /// It was given from outside the file.
    Given {
        /// Where it belongs.
        level: Level,
        /// Where it was given.
        source: GivenSource,
        /// The environments whose jobs get it; `*` stands for any text.
        scope: String,
        /// Whether only pipelines of protected branches and tags get it.
        is_protected: bool,
    },
}

/// The variables of one job, or those that all jobs share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedVariables {
    /// The job; absent for what all jobs share.
    pub job: Option<String>,
    /// The variables, those of the strongest origin first.
    pub variables: Vec<ExplainedVariable>,
    /// What was given for others.
    pub left_out: Vec<LeftOutVariable>,
}

/// A variable that was given, but not for this job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOutVariable {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub source: VariableSource,
    /// Why it is left out.
    pub reason: LeftOutReason,
}

/// Why a variable is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It is for protected branches and tags.
    Protected,
    /// It is for other environments.
    Scope,
}

impl VariableSource {
    /// Returns where a given variable comes from.
    pub(super) fn given(given: &GivenVariable) -> Self {
        Self::Given {
            level: given.level,
            source: given.source.clone(),
            scope: given.scope.clone(),
            is_protected: given.is_protected,
        }
    }

    /// Returns how early a variable of this origin wins, from 0.
    pub(super) fn rank(&self) -> usize {
        match self {
            Self::Given { level, .. } => match level {
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
