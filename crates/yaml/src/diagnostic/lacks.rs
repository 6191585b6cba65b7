/// What of a pipeline could not be read, so that findings about missing things say nothing new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacks {
    /// Nothing.
    #[default]
    Nothing,
    /// What some jobs take from others (`extends`, `!reference`).
    Parts,
    /// Whole files.
    Files,
}

/// The findings that parts of jobs could settle.
const OF_PARTS: [&str; 2] = ["missing-script", "no-jobs"];

/// The findings that an included file could settle.
const OF_FILES: [&str; 11] = [
    "dependency-not-needed",
    "invalid-on-stop",
    "later-stage",
    "missing-need",
    "unknown-base",
    "unknown-dependency",
    "unknown-environment",
    "unknown-need",
    "unknown-reference",
    "unknown-stage",
    "unknown-variable",
];

impl Lacks {
    /// Returns whether a finding with this code may come from what could not be read.
    pub fn explains(self, code: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Parts => OF_PARTS.contains(&code),
            Self::Files => OF_PARTS.contains(&code) || OF_FILES.contains(&code),
        }
    }
}
