use crate::expression::Expression;
use crate::pattern::Pattern;
use std::fmt;
use std::sync::Arc;

/// What `only` or `except` of a job says; an absent part says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    /// Branches, tags and kinds of pipelines.
    pub refs: Option<Vec<RefPattern>>,
    /// Expressions of which one must hold.
    pub variables: Option<Vec<Arc<Expression>>>,
    /// Globs of which one must fit a changed file.
    pub changes: Option<Vec<String>>,
    /// Whether a Kubernetes cluster must be there (`kubernetes: active`).
    pub kubernetes: bool,
}

/// One entry of `only:refs` or `except:refs`.
#[derive(Debug, Clone, PartialEq)]
pub enum RefPattern {
    /// A word: a kind of pipeline (`branches`, `merge_requests`, ...) or the name of a ref, perhaps
    /// with `@group/project` behind it.
    Name(String),
    /// A regular expression for names of branches and tags, perhaps for one project only.
    Pattern {
        /// The expression.
        pattern: Arc<Pattern>,
        /// The project behind `@`.
        project: Option<String>,
    },
}

/// Shows the entry as the file has it.
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
