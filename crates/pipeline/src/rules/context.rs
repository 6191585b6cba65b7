use super::FileConditions;
use crate::expression::Variables;
use std::fmt;

/// The context in which rules are evaluated.
#[derive(Clone, Copy)]
pub struct RuleContext<'c> {
    /// The variables for conditions, not expanded.
    pub variables: &'c dyn Variables,
    /// The variables for globs and refs, expanded.
    pub expanded: &'c dyn Variables,
    /// The conditions on files, with cached results.
    pub files: &'c FileConditions<'c>,
}

impl fmt::Debug for RuleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleContext")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
