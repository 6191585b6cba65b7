use std::fmt;

/// The number of comparisons beyond which GitLab treats a condition as true.
pub(super) const MOST_COMPARISONS: usize = 50_000;

/// The result of a condition on files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVerdict {
    /// A file matches.
    Match {
        /// The glob or the regular expression.
        pattern: String,
        /// The first file that matches.
        path: String,
    },
    /// No file matches.
    NoMatch {
        /// The number of files considered.
        paths: usize,
    },
    /// The condition has no glob.
    NoPattern,
    /// The changed files are unknown, so the condition is treated as true.
    Unknown,
    /// There are too many files and globs to compare.
    TooMany {
        /// The number of comparisons it would take.
        comparisons: usize,
    },
}

impl FileVerdict {
    /// Returns whether the condition holds.
    pub fn holds(&self) -> bool {
        match self {
            Self::Match { .. } | Self::Unknown | Self::TooMany { .. } => true,
            Self::NoMatch { .. } | Self::NoPattern => false,
        }
    }
}

/// Explains the result.
impl fmt::Display for FileVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Match { pattern, path } => write!(f, "`{path}` matches `{pattern}`"),
            Self::NoMatch { paths: 0 } => f.write_str("there are no files to compare"),
            Self::NoMatch { paths: 1 } => f.write_str("the only file does not match"),
            Self::NoMatch { paths } => write!(f, "none of {paths} files matches"),
            Self::NoPattern => f.write_str("there is no glob to match"),
            Self::Unknown => {
                f.write_str("the changed files are unknown here, so the condition counts as true")
            }
            Self::TooMany { comparisons } => write!(
                f,
                "it would take {comparisons} comparisons, more than {MOST_COMPARISONS}, so the condition \
 counts as true"
            ),
        }
    }
}
