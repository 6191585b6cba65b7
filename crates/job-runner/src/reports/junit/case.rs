use executor_core::FailedTest;

/// The largest size of a failed test's text; some tests print megabytes.
const LONGEST_TEXT: usize = 64 << 10;

/// The result of a test, in ascending order: the strongest one of a case counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    #[default]
    Passed,
    Skipped,
    BrokeDown,
    Failed,
}

/// A test case that is being read.
#[derive(Debug, Default)]
pub(super) struct Case {
    pub(super) suite: String,
    pub(super) class: String,
    pub(super) name: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<String>,
    pub(super) seconds: f64,
    end: End,
    /// The attribute `message` of the deciding element.
    message: String,
    /// The text of the deciding element.
    text: String,
}

impl Case {
    /// Adds a result; returns whether its text is wanted.
    pub(super) fn ended(&mut self, end: End, message: String) -> bool {
        if end <= self.end {
            return false;
        }
        self.end = end;
        self.message = message;
        self.text.clear();
        matches!(end, End::Failed | End::BrokeDown)
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    /// Adds text of the deciding element.
    pub(super) fn add_text(&mut self, text: &str) {
        let room = LONGEST_TEXT.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// Returns the failed test.
    pub(super) fn into_failed(self) -> FailedTest {
        let file = self.file.map(|file| match self.line {
            Some(line) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{file}:{line}")
            }
            _ => file,
        });
        let (message, text) = (self.message.trim(), self.text.trim());
        // Many tools start the text with the message.
        let message = match (message.is_empty(), text.is_empty()) {
            (true, _) => text.to_owned(),
            (_, true) => message.to_owned(),
            _ if text.starts_with(message) => text.to_owned(),
            _ => format!("{message}\n{text}"),
        };
        FailedTest {
            suite: self.suite,
            class: self.class,
            name: self.name,
            file,
            message,
        }
    }
}
