use std::fmt;

/// Which setting held a refused flag.
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

/// Why no plan could be made; the job's configuration is at fault, trying again does not help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A commit that is not a whole hexadecimal object name.
    #[error("commit {commit:?} is not a hexadecimal object name")]
    Commit {
        /// The commit.
        commit: String,
    },
    /// A ref or refspec that would be an option, or that holds a control character.
    #[error("ref {name:?} begins with a dash or holds a control character")]
    Ref {
        /// The name.
        name: String,
    },
    /// There is neither a commit nor a ref.
    #[error("neither a commit nor a ref to check out")]
    Nothing,
    /// A flag with which git would run a program or leave its directory.
    #[error("flag {flag:?} of {source_variable} is not allowed")]
    Flag {
        /// The flag.
        flag: String,
        /// Where it was.
        source_variable: GitFlagSource,
    },
    /// An object format git does not have.
    #[error("object format {format:?} is neither sha1 nor sha256")]
    ObjectFormat {
        /// The format.
        format: String,
    },
}
