/// Why options describe no situation that there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SituationError {
    /// Two options exclude each other.
    #[error("{0} and {1} exclude each other")]
    Contradiction(&'static str, &'static str),
    /// An option means nothing without another one.
    #[error("{0} means nothing without {1}")]
    Alone(&'static str, &'static str),
    /// There is no such source.
    #[error("no pipeline comes from {0:?}")]
    UnknownSource(String),
    /// A source does not go with what the pipeline runs for.
    #[error("--source {given} does not go with {with}")]
    WrongSource {
        /// The source.
        given: String,
        /// The option it does not go with.
        with: &'static str,
    },
    /// A branch or tag cannot have this name.
    #[error("{option} {name:?}: no branch or tag can have this name")]
    InvalidName {
        /// The option.
        option: &'static str,
        /// The name.
        name: String,
    },
    /// A changed file is not in the project.
    #[error("--changes {0:?}: the path is not in the project")]
    OutsideChange(String),
}

impl SituationError {
    /// Returns what the user can do.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Contradiction(..) => "give one of them".to_owned(),
            Self::Alone(_, other) => format!("add {other}"),
            Self::UnknownSource(_) => format!("use one of: {}", super::SOURCES.join(", ")),
            Self::WrongSource { with: "--mr", .. } => {
                "leave it out: a merge request's pipeline comes from merge_request_event".to_owned()
            }
            Self::WrongSource { .. } => "leave one of them out".to_owned(),
            Self::InvalidName { .. } => return None,
            Self::OutsideChange(_) => "give paths relative to the top of the repository".to_owned(),
        })
    }
}
