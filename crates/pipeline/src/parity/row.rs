use executor_core::job::JobDefinition;
use yaml::{Kind, Node};

/// The consequence of a keyword that a local run does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The keyword is supported.
    Supported,
    /// It has no effect on the job's result: it concerns only a server.
    Note,
    /// The job runs without it and may behave differently.
    Warning,
    /// The job would do something else without it, so it is refused.
    Error,
}

impl Class {
    /// Returns the word used in the published table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "yes",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// How a local run treats one keyword.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The keyword and the path to it, for example `artifacts:expose_as`.
    pub keyword: &'static str,
    /// Whether it is supported, and the consequence if not.
    pub class: Class,
    /// What a local run does, and why; a sentence without capital and final dot.
    pub text: &'static str,
    /// Returns whether a resolved job has the keyword; absent for keywords of the file, and for
    /// those that a definition does not keep.
    pub(super) in_job: Option<fn(&JobDefinition) -> bool>,
    /// Returns whether a value of the keyword has any effect.
    in_file: fn(&Node) -> bool,
}

impl Row {
    /// Returns a row of a supported keyword.
    pub(super) const fn supported(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Supported, keyword, text)
    }

    /// Returns a row of [`Class::Note`].
    pub(super) const fn note(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Note, keyword, text)
    }

    /// Returns a row of [`Class::Warning`].
    pub(super) const fn warning(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Warning, keyword, text)
    }

    /// Returns a row of [`Class::Error`].
    pub(super) const fn error(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Error, keyword, text)
    }

    const fn new(class: Class, keyword: &'static str, text: &'static str) -> Self {
        Self {
            keyword,
            class,
            text,
            in_job: None,
            in_file: is_given,
        }
    }

    /// Sets the check of a resolved job.
    pub(super) const fn in_job(mut self, has: fn(&JobDefinition) -> bool) -> Self {
        self.in_job = Some(has);
        self
    }

    /// Makes `false` and empty values count as absent.
    pub(super) const fn unless_empty(mut self) -> Self {
        self.in_file = is_not_empty;
        self
    }

    /// Returns whether a value of the keyword in a file has any effect.
    pub(super) fn applies_to(&self, node: &Node) -> bool {
        (self.in_file)(node)
    }
}

fn is_given(node: &Node) -> bool {
    !node.is_null()
}

fn is_not_empty(node: &Node) -> bool {
    !node.is_blank() && !matches!(node.kind, Kind::Bool(false))
}
