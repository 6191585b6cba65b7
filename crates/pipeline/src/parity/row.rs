use super::Class;
use executor_core::job::JobDefinition;
use yaml::{Kind, Node};

/// What a local run makes of one keyword.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The keyword and the path to it, for example `artifacts:expose_as`.
    pub keyword: &'static str,
    /// How much it matters.
    pub class: Class,
    /// What happens here, and why; a sentence without its capital and its dot.
    pub text: &'static str,
    /// Whether a job that stands on its own has the keyword; absent where the row is about a whole
    /// file, or a job does not keep the keyword.
    pub(super) in_job: Option<fn(&JobDefinition) -> bool>,
    /// Whether a value of the keyword asks for anything.
    in_file: fn(&Node) -> bool,
}

impl Row {
    /// Returns a row of a keyword that is honoured.
    pub(super) const fn honoured(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Honoured, keyword, text)
    }

    /// Returns a row of a keyword that only a server can honour, and no script notices.
    pub(super) const fn note(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Note, keyword, text)
    }

    /// Returns a row of a keyword without which a job runs, and may notice.
    pub(super) const fn warning(keyword: &'static str, text: &'static str) -> Self {
        Self::new(Class::Warning, keyword, text)
    }

    /// Returns a row of a keyword without which a job is not run.
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

    /// Says how a job that stands on its own is asked.
    pub(super) const fn in_job(mut self, has: fn(&JobDefinition) -> bool) -> Self {
        self.in_job = Some(has);
        self
    }

    /// Says that `false` and what is empty ask for nothing.
    pub(super) const fn unless_empty(mut self) -> Self {
        self.in_file = asks_for_something;
        self
    }

    /// Returns whether a value of the keyword in a file asks for something.
    pub(super) fn is_asked_by(&self, node: &Node) -> bool {
        (self.in_file)(node)
    }
}

fn is_given(node: &Node) -> bool {
    !node.is_null()
}

fn asks_for_something(node: &Node) -> bool {
    !node.is_blank() && !matches!(node.kind, Kind::Bool(false))
}
