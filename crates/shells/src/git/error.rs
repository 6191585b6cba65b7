use std::fmt;

/// The setting that contained a refused flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitFlagSource {
    /// [`GitSettings::fetch_flags`](super::GitSettings::fetch_flags).
    Fetch,
    /// [`GitSettings::clone_flags`](super::GitSettings::clone_flags).
    Clone,
}

impl fmt::Display for GitFlagSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fetch => "GIT_FETCH_EXTRA_FLAGS",
            Self::Clone => "GIT_CLONE_EXTRA_FLAGS",
        })
    }
}

/// An error in planning, caused by the job's configuration; a retry does not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A commit is not a full hexadecimal object name.
    #[error("commit {commit:?} is not a hexadecimal object name")]
    Commit {
        /// The commit.
        commit: String,
    },
    /// A ref or refspec would be an option, or contains a control character.
    #[error("ref {name:?} begins with a dash or contains a control character")]
    Ref {
        /// The name.
        name: String,
    },
    /// There is neither a commit nor a ref.
    #[error("there is neither a commit nor a ref to check out")]
    Nothing,
    /// With a flag git would run a program or leave its directory.
    #[error("flag {flag:?} of {source_variable} is not allowed")]
    Flag {
        /// The flag.
        flag: String,
        /// The setting that contained it.
        source_variable: GitFlagSource,
    },
    /// Git does not have an object format.
    #[error("object format {format:?} is neither sha1 nor sha256")]
    ObjectFormat {
        /// The format.
        format: String,
    },
}
