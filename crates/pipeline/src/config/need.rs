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

/// The owner of `needs`, which decides what they may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NeedPlace {
    Job,
    Trigger,
    Rule,
}

impl NeedEntry {
    /// Returns GitLab's name of the kind.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Cross(_) => "cross_dependency",
            Self::Mirror(_) => "bridge",
        }
    }

    /// Returns whether this owner may have it.
    pub(super) fn is_allowed_in(&self, place: NeedPlace) -> bool {
        match self {
            Self::Job(_) => true,
            Self::Cross(_) => place == NeedPlace::Job,
            Self::Mirror(_) => place == NeedPlace::Trigger,
        }
    }
}
