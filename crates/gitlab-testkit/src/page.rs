use crate::answer::Answer;

/// A page of a test's own, for remote includes and for answers that no GitLab gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub(crate) answer: Answer,
}

impl Page {
    /// Returns a page of text, with status 200.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self {
            answer: Answer::text(body),
        }
    }

    /// Gives it another status.
    pub fn status(mut self, status: u16) -> Self {
        self.answer.status = status;
        self
    }

    /// Gives it one more header.
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
