use crate::config::NeedEntry;
use crate::expression::Expression;
use crate::pattern::Pattern;
use executor_core::job::{VariableDefinition, When};
use indexmap::IndexMap;
use serde::Serialize;
use std::sync::Arc;
use yaml::source::{Span, Spanned};

/// One entry of `rules`: of a job, of `workflow` or of an include.
///
/// It matches when all its conditions hold; an entry without conditions always matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its location.
    pub span: Span,
    /// The condition on variables.
    pub condition: Option<Spanned<Arc<Expression>>>,
    /// The condition on changed files.
    pub changes: Option<Box<Changes>>,
    /// The condition on existing files.
    pub exists: Option<Box<Exists>>,
    /// The new `when`.
    pub when: Option<When>,
    /// The delay of `when: delayed`.
    pub start_in: Option<String>,
    /// The new `allow_failure`.
    pub allow_failure: Option<bool>,
    /// Variables that override those of the job (in a `workflow`, those of the file).
    pub variables: IndexMap<String, VariableDefinition>,
    /// The needs that replace those of the job.
    pub needs: Option<Vec<Spanned<NeedEntry>>>,
    /// The new `interruptible`.
    pub interruptible: Option<bool>,
    /// The new `workflow:auto_cancel`.
    pub auto_cancel: Option<AutoCancel>,
}

impl Rule {
    /// Returns a rule without conditions and effects.
    pub fn of(span: Span) -> Self {
        Self {
            span,
            condition: None,
            changes: None,
            exists: None,
            when: None,
            start_in: None,
            allow_failure: None,
            variables: IndexMap::new(),
            needs: None,
            interruptible: None,
            auto_cancel: None,
        }
    }

    /// Returns whether it has `when` and nothing else.
    pub fn is_only_when(&self) -> bool {
        let alone = Self {
            when: self.when,
            ..Self::of(self.span)
        };
        self.when.is_some() && *self == alone
    }
}

/// The condition that files changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// Its location.
    pub span: Span,
    /// Globs, one of which must match.
    pub paths: Vec<String>,
    /// The ref that the commit is compared with.
    pub compare_to: Option<Spanned<String>>,
    /// A regular expression instead of globs.
    pub regexp: Option<Arc<Pattern>>,
}

/// The condition that files exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Exists {
    /// Its location.
    pub span: Span,
    /// Globs, one of which must match.
    pub paths: Vec<String>,
    /// The project whose files are checked.
    pub project: Option<String>,
    /// The commit of that project.
    pub reference: Option<String>,
    /// A regular expression instead of globs.
    pub regexp: Option<Arc<Pattern>>,
}

/// `workflow:auto_cancel`: what is cancelled, and when.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AutoCancel {
    /// What a newer commit cancels.
    pub on_new_commit: Option<OnNewCommit>,
    /// What a failed job cancels.
    pub on_job_failure: Option<OnJobFailure>,
}

/// What a newer commit cancels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNewCommit {
    /// The pipeline, unless a job that is not interruptible has started.
    #[default]
    Conservative,
    /// The interruptible jobs.
    Interruptible,
    /// Nothing.
    None,
}

/// What a failed job cancels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnJobFailure {
    /// Nothing.
    #[default]
    None,
    /// All jobs of the pipeline.
    All,
}
