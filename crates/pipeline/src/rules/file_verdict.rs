use std::fmt;

/// How many comparisons of a path with a glob GitLab makes before it takes a condition for true.
pub(super) const MOST_COMPARISONS: usize = 50_000;

/// What became of a condition on files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVerdict {
    /// A file fits.
    Fits {
        /// The glob or the regular expression.
        pattern: String,
        /// The first file that fits it.
        path: String,
    },
    /// None of the files fits.
    FitsNot {
        /// How many files there are to look at.
        paths: usize,
    },
    /// There is no glob to compare files with.
    NoPattern,
    /// Nobody knows what changed, so that any change is taken for possible.
    Unknown,
    /// There are too many files and globs to compare all of them.
    TooMany {
        /// How many comparisons it would take.
        comparisons: usize,
    },
}

impl FileVerdict {
    /// Returns whether the condition holds.
    pub fn holds(&self) -> bool {
        match self {
            Self::Fits { .. } | Self::Unknown | Self::TooMany { .. } => true,
            Self::FitsNot { .. } | Self::NoPattern => false,
        }
    }
}

/// Says why the condition holds or does not.
impl fmt::Display for FileVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fits { pattern, path } => write!(f, "`{path}` fits `{pattern}`"),
            Self::FitsNot { paths: 0 } => f.write_str("there is no file to look at"),
            Self::FitsNot { paths: 1 } => f.write_str("the only file to look at does not fit"),
            Self::FitsNot { paths } => write!(f, "none of {paths} files fits"),
            Self::NoPattern => f.write_str("there is nothing that a file could fit"),
            Self::Unknown => f.write_str("what changed is unknown here, so it is taken to hold"),
            Self::TooMany { comparisons } => write!(
                f,
                "it would take {comparisons} comparisons, more than {MOST_COMPARISONS}, so it is \
                 taken to hold"
            ),
        }
    }
}
