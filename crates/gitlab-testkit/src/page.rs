use crate::answer::Answer;

/// A page defined by a test, for remote includes and for responses that no GitLab sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub(crate) answer: Answer,
}

impl Page {
    /// Returns a text page with status 200.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self {
            answer: Answer::text(body),
        }
    }

    /// Sets the status.
    pub fn status(mut self, status: u16) -> Self {
        self.answer.status = status;
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if name.eq_ignore_ascii_case("content-type") {
            self.answer.headers.clear();
        }
        self.answer = self.answer.header(name, value);
        self
    }
}

impl From<&str> for Page {
    fn from(body: &str) -> Self {
        Self::new(body)
    }
}

impl From<String> for Page {
    fn from(body: String) -> Self {
        Self::new(body)
    }
}
