/// The part of a pipeline that could not be read, so that diagnostics about missing things may be
/// consequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unread {
    /// Nothing.
    #[default]
    Nothing,
    /// Parts that jobs take from others (`extends`, `!reference`).
    Parts,
    /// Whole files.
    Files,
}

/// The codes of diagnostics that unread parts of jobs can cause.
const OF_PARTS: [&str; 2] = ["missing-script", "no-jobs"];

/// The codes of diagnostics that an unread file can cause.
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

impl Unread {
    /// Returns whether a diagnostic with this code may be a consequence of the unread part.
    pub fn explains(self, code: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Parts => OF_PARTS.contains(&code),
            Self::Files => OF_PARTS.contains(&code) || OF_FILES.contains(&code),
        }
    }
}
