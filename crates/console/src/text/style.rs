//! Colours, links and marks.

use super::OutputFeatures;
use std::fmt::Write;
use std::path::Path;

/// Colours, links and marks for one stream, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colours: bool,
    links: bool,
    unicode: bool,
}

/// What a piece of text means; the colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// It went well.
    Good,
    /// It failed.
    Bad,
    /// A warning.
    Warning,
    /// Secondary text.
    Quiet,
    /// It stands out.
    Strong,
    /// It belongs to the job with this number.
    Job(usize),
}

/// A mark at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It went well.
    Success,
    /// It failed.
    Failure,
    /// It failed, which is allowed.
    Allowed,
    /// It was stopped.
    Canceled,
    /// It waits for the user.
    Manual,
    /// It runs.
    Running,
    /// A folded section.
    Folded,
    /// A condition holds.
    True,
    /// A condition does not hold.
    False,
    /// A condition was not evaluated, or has no answer.
    Unknown,
}

impl Style {
    /// Text and nothing else.
    pub const PLAIN: Self = Self {
        colours: false,
        links: false,
        unicode: false,
    };

    /// Returns what a stream with these features shows.
    pub fn of(features: OutputFeatures) -> Self {
        Self {
            colours: features.colours,
            links: features.links,
            unicode: features.unicode,
        }
    }

    /// Returns what standard output shows.
    pub fn of_stdout() -> Self {
        Self::of(OutputFeatures::of_stdout())
    }

    /// Returns what standard error shows.
    pub fn of_stderr() -> Self {
        Self::of(OutputFeatures::of_stderr())
    }

    /// Returns the same with colours.
    #[must_use]
    pub fn coloured(self) -> Self {
        Self {
            colours: true,
            ..self
        }
    }

    /// Returns the same with characters beyond ASCII.
    #[must_use]
    pub fn with_unicode(self) -> Self {
        Self {
            unicode: true,
            ..self
        }
    }

    /// Returns whether characters beyond ASCII are shown.
    #[cfg(feature = "full-screen")]
    pub(crate) fn has_unicode(self) -> bool {
        self.unicode
    }

    /// Returns whether there are colours.
    pub fn has_colours(self) -> bool {
        self.colours
    }

    /// Returns `text` in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "31;1",
            Tone::Warning => "33",
            Tone::Quiet => "2",
            Tone::Strong => "1",
            Tone::Job(number) => ["36", "35", "34", "33", "32", "96", "95", "94"][number % 8],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Returns a mark: one character, or where only ASCII is read, a word of four letters at most.
    pub fn mark(self, mark: Mark) -> &'static str {
        let (sign, word) = match mark {
            Mark::Success => ("✓", "ok"),
            Mark::Failure => ("✗", "FAIL"),
            Mark::Allowed => ("!", "warn"),
            Mark::Canceled => ("■", "stop"),
            Mark::Manual => ("○", "hand"),
            Mark::Running => ("•", "*"),
            Mark::Folded => ("▸", ">"),
            Mark::True => ("✓", "yes"),
            Mark::False => ("✗", "no"),
            Mark::Unknown => ("·", "-"),
        };
        if self.unicode { sign } else { word }
    }

    /// Returns how many columns the marks of finished jobs take.
    pub(crate) fn mark_width(self) -> usize {
        if self.unicode { 1 } else { 4 }
    }

    /// Returns how many columns the marks of conditions take.
    pub(crate) fn verdict_width(self) -> usize {
        if self.unicode { 1 } else { 3 }
    }

    /// Returns what stands for text that was left out.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { ".." }
    }

    /// Returns a path, as a link where links are shown.
    pub fn path(self, path: &Path) -> String {
        let shown = super::strip_controls(&path.display().to_string());
        if !self.links || !path.is_absolute() {
            return shown;
        }
        format!("\x1b]8;;{}\x1b\\{shown}\x1b]8;;\x1b\\", address(path))
    }
}

/// Returns the `file:` address of a path.
fn address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_link_only_where_links_are_shown() {
        let path = Path::new("/tmp/a b/ü.log");
        assert_eq!(Style::PLAIN.path(path), "/tmp/a b/ü.log");
        let links = Style {
            links: true,
            ..Style::PLAIN
        };
        assert_eq!(
            links.path(path),
            "\x1b]8;;file:///tmp/a%20b/%C3%BC.log\x1b\\/tmp/a b/ü.log\x1b]8;;\x1b\\"
        );
    }
}
