/// Why the options of a situation are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SituationError {
    /// Two options cannot be combined.
    #[error("{0} and {1} cannot be combined")]
    Contradiction(&'static str, &'static str),
    /// An option needs another one.
    #[error("{0} needs {1}")]
    Alone(&'static str, &'static str),
    /// The source is unknown.
    #[error("unknown --source {0:?}")]
    UnknownSource(String),
    /// A merge request or tag cannot have this source.
    #[error("--source {given} cannot be combined with {with}")]
    WrongSource {
        /// The source.
        given: String,
        /// The other option.
        with: &'static str,
    },
    /// A branch or tag cannot have this name.
    #[error("invalid {option} {name:?}: expected the name of a branch or tag")]
    InvalidName {
        /// The option.
        option: &'static str,
        /// The name.
        name: String,
    },
    /// A changed file is not in the project.
    #[error("invalid --changes {0:?}: expected a path in the project")]
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
                "leave it out: the source of a merge request is merge_request_event".to_owned()
            }
            Self::WrongSource { .. } => "leave one of them out".to_owned(),
            Self::InvalidName { .. } => return None,
            Self::OutsideChange(_) => "give paths relative to the top of the repository".to_owned(),
        })
    }
}
