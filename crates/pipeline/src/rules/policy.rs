use crate::expression::Expression;
use crate::pattern::Pattern;
use std::fmt;
use std::sync::Arc;

/// The conditions of `only` or `except` of a job; absent ones have no effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Branches, tags and kinds of pipelines.
    pub refs: Option<Vec<RefPattern>>,
    /// Expressions, one of which must be true.
    pub variables: Option<Vec<Arc<Expression>>>,
    /// Globs, one of which must match a changed file.
    pub changes: Option<Vec<String>>,
    /// Whether a Kubernetes cluster must be active (`kubernetes: active`).
    pub kubernetes: bool,
}

/// One entry of `only:refs` or `except:refs`.
#[derive(Debug, Clone, PartialEq)]
pub enum RefPattern {
    /// A word: a kind of pipeline (`branches`, `merge_requests`, ...) or the name of a ref,
    /// optionally followed by `@group/project`.
    Name(String),
    /// A regular expression for names of branches and tags, optionally for one project only.
    Pattern {
        /// The expression.
        pattern: Arc<Pattern>,
        /// The project after `@`.
        project: Option<String>,
    },
}

/// Shows the entry as written in the file.
impl fmt::Display for RefPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) => f.write_str(text),
            Self::Pattern { pattern, project } => {
                write!(f, "{pattern}")?;
                match project {
                    Some(project) => write!(f, "@{project}"),
                    None => Ok(()),
                }
            }
        }
    }
}
