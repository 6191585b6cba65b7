//! Sections: the parts of a log that a reader can fold.

use std::time::{Duration, SystemTime};

/// Hides a marker line: moves to the first column and clears the line.
const HIDE_LINE: &str = "\r\x1b[0K";
/// Longer names are cut.
const MAX_NAME: usize = 128;

/// Whether markers are written around the parts of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SectionMarks {
    /// Markers and header lines.
    #[default]
    Write,
    /// Header lines only, for readers that cannot fold.
    Omit,
}

/// The name of a section: letters, digits, `_`, `.` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SectionName(String);

impl SectionName {
    /// Returns a name from any text.
    ///
    /// Invalid characters become `_`, so that no text can forge a marker; an empty text becomes `section`; a text longer
    /// than 128 characters is cut.
    pub fn new(text: &str) -> Self {
        let allowed = |character: char| {
            character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
        };
        let characters = text.chars().take(MAX_NAME);
        let name: String = characters
            .map(|character| if allowed(character) { character } else { '_' })
            .collect();
        if name.is_empty() {
            Self("section".to_owned())
        } else {
            Self(name)
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The initial state of a section in a viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionLook {
    /// Unfolded, with its duration.
    #[default]
    Plain,
    /// Folded, with its duration.
    Collapsed,
    /// Folded, without its duration.
    CollapsedQuiet,
}

impl SectionLook {
    fn options(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Collapsed => "[collapsed=true]",
            Self::CollapsedQuiet => "[hide_duration=true,collapsed=true]",
        }
    }
}

/// Writes markers and keeps them balanced.
#[derive(Debug, Default)]
pub struct SectionTracker {
    marks: SectionMarks,
    open: Vec<(u64, SectionName)>,
    opened: u64,
}

/// Identifies a section that a [`SectionTracker`] opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionId(u64);

impl SectionTracker {
    /// Returns a tracker without open sections.
    pub fn new(marks: SectionMarks) -> Self {
        Self {
            marks,
            ..Self::default()
        }
    }

    /// Opens a section inside the open ones, and returns its text.
    ///
    /// The text ends with a newline unless markers are omitted and `header` is empty.
    pub fn start(
        &mut self,
        now: SystemTime,
        name: SectionName,
        look: SectionLook,
        header: &str,
    ) -> (SectionId, String) {
        let id = self.opened;
        self.opened += 1;
        let mut text = match self.marks {
            SectionMarks::Write => {
                let (second, options) = (unix(now), look.options());
                format!(
                    "section_start:{second}:{}{options}{HIDE_LINE}",
                    name.as_str()
                )
            }
            SectionMarks::Omit => String::new(),
        };
        text.push_str(header);
        if !text.is_empty() {
            text.push('\n');
        }
        self.open.push((id, name));
        (SectionId(id), text)
    }

    /// Closes a section and the open ones inside it, and returns their text.
    ///
    /// Closing it again returns nothing.
    pub fn end(&mut self, now: SystemTime, section: SectionId) -> String {
        let position = self.open.iter().position(|(id, _)| *id == section.0);
        position.map_or_else(String::new, |position| self.close_from(now, position))
    }

    /// Closes all open sections, the innermost first, and returns their text.
    pub fn end_all(&mut self, now: SystemTime) -> String {
        self.close_from(now, 0)
    }

    fn close_from(&mut self, now: SystemTime, position: usize) -> String {
        let second = unix(now);
        let closed = self.open.drain(position..).rev();
        let markers = closed.map(|(_, name)| match self.marks {
            SectionMarks::Write => format!("section_end:{second}:{}{HIDE_LINE}", name.as_str()),
            SectionMarks::Omit => String::new(),
        });
        markers.collect()
    }
}

fn unix(now: SystemTime) -> u64 {
    let since_epoch = now.duration_since(SystemTime::UNIX_EPOCH);
    since_epoch.unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }

    #[test]
    fn marker_text() {
        let mut tracker = SectionTracker::new(SectionMarks::Write);
        let name = SectionName::new("step_script");
        let (id, text) = tracker.start(now(), name, SectionLook::CollapsedQuiet, "Running");
        assert_eq!(
            text,
            "section_start:1700000000:step_script[hide_duration=true,collapsed=true]\
             \r\x1b[0KRunning\n"
        );
        let end = "section_end:1700000000:step_script\r\x1b[0K";
        assert_eq!(tracker.end(now(), id), end);
        assert_eq!(tracker.end(now(), id), "");
    }

    #[test]
    fn inner_sections_are_closed_with_the_outer() {
        let mut tracker = SectionTracker::new(SectionMarks::Write);
        let mut start = |name| {
            let name = SectionName::new(name);
            tracker.start(now(), name, SectionLook::Plain, "").0
        };
        start("a");
        let middle = start("b");
        start("c");
        let text = tracker.end(now(), middle);
        assert!(text.find(":c\r") < text.find(":b\r"));
        assert_eq!(text.matches("section_end").count(), 2);
        assert_eq!(tracker.end_all(now()).matches("section_end").count(), 1);
    }

    #[test]
    fn names_cannot_forge_markers() {
        let check = |text, expect: &str| assert_eq!(SectionName::new(text).as_str(), expect);
        check("get_sources", "get_sources");
        check("a\r\nsection_end:1:b", "a__section_end_1_b");
        check("x[collapsed=true]", "x_collapsed_true_");
        check("", "section");
        assert_eq!(SectionName::new(&"x".repeat(300)).as_str().len(), 128);
    }

    #[test]
    fn header_alone_without_markers() {
        let mut tracker = SectionTracker::new(SectionMarks::Omit);
        let name = SectionName::new("a");
        let (id, text) = tracker.start(now(), name, SectionLook::Plain, "Header");
        assert_eq!(text, "Header\n");
        assert_eq!(tracker.end(now(), id), "");
    }
}
