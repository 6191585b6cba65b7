use super::{JobId, ScreenState};
use crate::text::strip_controls;

/// More messages are forgotten, the oldest first.
const MOST_MESSAGES: usize = 1000;

/// The last note, until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) struct Note(pub(in crate::full_screen) String);

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::full_screen) enum Question {
    CancelJob(JobId),
    CancelAll,
    Leave,
}

impl Question {
    /// Returns the question with the keys that answer it.
    pub(in crate::full_screen) fn text(&self) -> String {
        match self {
            Self::CancelJob(id) => format!("cancel the job {}? y/n", strip_controls(&id.job)),
            Self::CancelAll => "cancel the whole pipeline? y/n".to_owned(),
            Self::Leave => {
                "jobs are running: c cancels them, l quits without canceling, Esc stays".to_owned()
            }
        }
    }
}

impl ScreenState {
    /// Shows a short text at the bottom until the next key.
    pub(in crate::full_screen) fn say(&mut self, text: &str) {
        self.note = Some(Note(strip_controls(text)));
        self.is_stale = true;
    }

    /// Adds messages for the user, which are printed again at the end.
    pub(in crate::full_screen) fn tell(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.messages.push(strip_controls(line));
            self.say(line);
        }
        let surplus = self.messages.len().saturating_sub(MOST_MESSAGES);
        self.messages.drain(..surplus);
    }
}
