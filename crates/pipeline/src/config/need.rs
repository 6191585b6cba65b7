use executor_core::job::{CrossNeed, Need};

/// One entry of `needs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedEntry {
    /// A job of this pipeline.
    Job(JobNeed),
    /// A job of another pipeline or project.
    Cross(CrossNeed),
    /// The pipeline of another project, whose status a trigger job mirrors.
    Mirror(String),
}

/// A need of a job of this pipeline, by its name in the file or by that of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobNeed {
    /// The need.
    pub need: Need,
    /// The needed instances; absent means all of them.
    pub matrix: Option<Matrix>,
}

/// The combinations of `parallel:matrix`, each as names and values in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The combinations.
    pub combinations: Vec<Vec<(String, String)>>,
}
