use super::cursor::Mark;

/// Why a text is no YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// What is the matter.
    pub(crate) problem: &'static str,
    /// Where.
    pub(crate) mark: Mark,
    /// What was being read, and where it started.
    pub(crate) context: Option<(&'static str, Mark)>,
}

impl SyntaxError {
    pub(super) fn new(problem: &'static str, mark: Mark) -> Self {
        Self {
            problem,
            mark,
            context: None,
        }
    }

    /// Says what was being read.
    pub(super) fn during(mut self, what: &'static str, start: Mark) -> Self {
        self.context = Some((what, start));
        self
    }
}
