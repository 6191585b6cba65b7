use super::reader::Spanned;
use serde_json::Value;

/// `trigger`: the pipeline that a job starts instead of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Trigger {
    /// Where that pipeline is.
    pub target: TriggerTarget,
    /// How its result becomes that of the job; absent means that starting it is enough.
    pub strategy: Option<Strategy>,
    /// Which variables it gets.
    pub forward: Forward,
    /// The keyword as it was written, a plain project as `{project}`.
    pub written: Value,
}

/// Where a triggered pipeline is.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerTarget {
    /// In another project.
    Project {
        /// The project's path; may hold variables.
        project: Spanned<String>,
        /// The branch; absent means the default one.
        branch: Option<String>,
    },
    /// In this project, from files.
    Child {
        /// The jobs whose artifacts hold such a file, each with the place that names it.
        generators: Vec<Spanned<String>>,
    },
}

/// How the result of a triggered pipeline becomes that of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// The job waits and succeeds or fails like the pipeline.
    Depend,
    /// The job always has the very status of the pipeline.
    Mirror,
}

/// Which variables a triggered pipeline gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Forward {
    /// Those that the file gives the job.
    pub yaml_variables: bool,
    /// Those that this pipeline was started with.
    pub pipeline_variables: bool,
}

impl Default for Forward {
    fn default() -> Self {
        Self {
            yaml_variables: true,
            pipeline_variables: false,
        }
    }
}
