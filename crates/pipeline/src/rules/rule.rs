use crate::config::{NeedEntry, Spanned, Variables};
use crate::expression::Expression;
use crate::pattern::Pattern;
use executor_core::job::When;
use serde::Serialize;
use std::sync::Arc;
use yaml::source::Span;

/// One entry of `rules`: of a job, of `workflow` or of an include.
///
/// It holds when each of its conditions does; an entry without conditions always holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Where it stands.
    pub span: Span,
    /// The condition on variables.
    pub condition: Option<Spanned<Arc<Expression>>>,
    /// The condition on changed files.
    pub changes: Option<Box<Changes>>,
    /// The condition on existing files.
    pub exists: Option<Box<Exists>>,
    /// What becomes of `when`.
    pub when: Option<When>,
    /// The delay that goes with `when: delayed`.
    pub start_in: Option<String>,
    /// What becomes of `allow_failure`.
    pub allow_failure: Option<bool>,
    /// Variables that win over those of the job (of the file, in a `workflow`).
    pub variables: Variables,
    /// The needs that replace those of the job.
    pub needs: Option<Vec<Spanned<NeedEntry>>>,
    /// What becomes of `interruptible`.
    pub interruptible: Option<bool>,
    /// What becomes of `workflow:auto_cancel`.
    pub auto_cancel: Option<AutoCancel>,
}

impl Rule {
    /// Returns a rule that says nothing, and so always holds.
    pub fn of(span: Span) -> Self {
        Self {
            span,
            condition: None,
            changes: None,
            exists: None,
            when: None,
            start_in: None,
            allow_failure: None,
            variables: Variables::new(),
            needs: None,
            interruptible: None,
            auto_cancel: None,
        }
    }

    /// Returns whether it gives `when` and nothing else.
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
    /// Where it stands.
    pub span: Span,
    /// Globs of which one must fit.
    pub paths: Vec<String>,
    /// The ref that the commit is compared with.
    pub compare_to: Option<String>,
    /// A regular expression instead of globs.
    pub regexp: Option<Arc<Pattern>>,
}

/// The condition that files exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Exists {
    /// Where it stands.
    pub span: Span,
    /// Globs of which one must fit.
    pub paths: Vec<String>,
    /// The project whose files are meant.
    pub project: Option<String>,
    /// The commit of that project.
    pub reference: Option<String>,
    /// A regular expression instead of globs.
    pub regexp: Option<Arc<Pattern>>,
}

/// What is cancelled, and when (`workflow:auto_cancel`); an absent part says nothing.
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
    /// The pipeline, as long as no job that may not be interrupted has started.
    #[default]
    Conservative,
    /// The jobs that may be interrupted.
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
