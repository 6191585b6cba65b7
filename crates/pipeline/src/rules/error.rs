use crate::glob::GlobError;
use crate::repository::RepositoryError;
use thiserror::Error;
use yaml::source::Span;

/// Why a rule cannot be evaluated; the pipeline is then not created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RuleError {
    /// The error, in one sentence without a final dot.
    pub message: String,
    /// The location of the condition, if it is known.
    pub span: Option<Span>,
    /// A suggestion for the author.
    pub help: Option<&'static str>,
}

/// Why a condition on files cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum FileError {
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error(transparent)]
    Glob(#[from] GlobError),
}

impl FileError {
    /// Converts it to the error of a keyword; `named` is the ref or the project that the keyword
    /// names.
    pub(super) fn of(self, keyword: &str, named: &str, span: Option<Span>) -> RuleError {
        use RepositoryError::{UnknownProject, UnknownReference, Unreadable};
        let (message, help) = match &self {
            Self::Repository(UnknownReference(_)) => (
                format!("{keyword} names `{named}`, which is not a branch, tag or commit here"),
                Some("fetch it if it exists on the server only"),
            ),
            Self::Repository(UnknownProject(_)) => (
                format!("{keyword} names the project `{named}`, which cannot be reached"),
                None,
            ),
            Self::Repository(Unreadable(words)) => {
                (format!("{keyword} cannot be evaluated: {words}"), None)
            }
            Self::Glob(error) => (
                format!("{keyword} cannot be evaluated: {error}"),
                Some("list several globs instead of braces"),
            ),
        };
        RuleError {
            message,
            span,
            help,
        }
    }
}
