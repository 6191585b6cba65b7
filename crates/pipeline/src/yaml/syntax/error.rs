use super::cursor::Mark;

/// Why a text is no YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::yaml) struct SyntaxError {
    /// What is the matter.
    pub(in crate::yaml) problem: &'static str,
    /// Where.
    pub(in crate::yaml) mark: Mark,
    /// What was being read, and where it started.
    pub(in crate::yaml) context: Option<(&'static str, Mark)>,
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
