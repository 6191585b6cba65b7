use crate::glob::GlobError;
use crate::repository::RepositoryError;
use thiserror::Error;
use yaml::source::Span;

/// Why nobody can say whether a rule holds; the pipeline cannot be created then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RuleError {
    /// What is the matter, in one sentence without a final dot.
    pub message: String,
    /// The place of the condition; absent for one that has none of its own.
    pub span: Option<Span>,
    /// What the author can do.
    pub help: Option<&'static str>,
}

/// Why a question about files has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum FileError {
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    #[error(transparent)]
    Glob(#[from] GlobError),
}

impl FileError {
    /// Makes it the error of the keyword whose condition it is; `named` is the ref, the project or
    /// the globs that it names.
    pub(super) fn of(self, keyword: &str, named: &str, span: Option<Span>) -> RuleError {
        use RepositoryError::{UnknownProject, UnknownReference, Unreadable};
        let (message, help) = match &self {
            Self::Repository(UnknownReference(_)) => (
                format!("{keyword} names `{named}`, which is no branch, tag or commit here"),
                Some("fetch it if only the server has it"),
            ),
            Self::Repository(UnknownProject(_)) => (
                format!("{keyword} names the project `{named}`, which cannot be reached"),
                None,
            ),
            Self::Repository(Unreadable(words)) => {
                (format!("{keyword} cannot be decided: {words}"), None)
            }
            Self::Glob(error) => (
                format!("{keyword} cannot be decided: {error}"),
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
