use super::cursor::Mark;

/// Why a text is not valid YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// The problem, in libyaml's words.
    pub(crate) problem: &'static str,
    /// Its position.
    pub(crate) mark: Mark,
    /// The construct being read, and its start.
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

    /// Sets the construct being read.
    pub(super) fn during(mut self, what: &'static str, start: Mark) -> Self {
        self.context = Some((what, start));
        self
    }
}
