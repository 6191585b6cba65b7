use super::Severity;
use unicode_width::UnicodeWidthChar;

/// The maximum number of columns of a shown line; longer ones are cut around the location.
const WIDEST: usize = 100;

/// The replacement for tabs, wherever they are.
const TAB: &str = "    ";

/// Renders diagnostics as text.
///
/// ```text
/// error[unknown-stage]: job `test`: there is no stage `tset`
///  --> .gitlab-ci.yml:2:10
///   |
/// 2 |   stage: tset
///   |          ^^^^
///   |
///   = help: did you mean `test`?
/// ```
///
/// Text from files cannot control the terminal: control characters and those that change the
/// direction of text are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renderer {
    colors: bool,
}

/// The kind of a part of the text, which determines its color.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The title, and the mark at the location.
    Severity(Severity),
    /// Numbers, bars, arrows, and the marks of related locations.
    Frame,
    /// Important words.
    Strong,
}

impl Renderer {
    /// Returns a renderer without colors.
    pub fn plain() -> Self {
        Self { colors: false }
    }

    /// Returns a renderer with colors.
    pub fn colored() -> Self {
        Self { colors: true }
    }

    /// Returns the bar at the left of a line without a number.
    pub(super) fn bar(self, margin: usize, rest: &str) -> String {
        self.paint(Part::Frame, &format!("{:margin$} |", "")) + rest
    }

    pub(super) fn paint(self, part: Part, text: &str) -> String {
        if !self.colors {
            return text.to_owned();
        }
        let code = match part {
            Part::Severity(Severity::Error) => "31;1",
            Part::Severity(Severity::Warning) => "33;1",
            Part::Severity(Severity::Note) => "32;1",
            Part::Frame => "34;1",
            Part::Strong => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Replaces characters that affect a terminal.
pub(super) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.push_str(TAB),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.push('\u{fffd}'),
            character if character.is_control() => shown.push('\u{fffd}'),
            character => shown.push(character),
        }
    }
    shown
}

/// Returns the width of a character in columns after [`printable`].
pub(super) fn columns(character: char) -> usize {
    match character {
        '\t' => TAB.len(),
        character => character.width().unwrap_or(1),
    }
}

/// Returns the range of a line to show: all of it, or at most [`WIDEST`] columns around an offset.
pub(super) fn window(line: &str, offset: usize) -> (usize, usize) {
    let end_within = |text: &str, width: usize| -> Option<usize> {
        let mut taken = 0;
        let over = text.char_indices().find(|(_, character)| {
            taken += columns(*character);
            taken > width
        });
        over.map(|(at, _)| at)
    };
    // A third of the window is before the offset, to show its context.
    let mut start = 0;
    if end_within(&line[..offset], WIDEST * 2 / 3).is_some() {
        let mut taken = 0;
        let before = line[..offset].char_indices().rev();
        let kept = before.take_while(|(_, character)| {
            taken += columns(*character);
            taken <= WIDEST / 3
        });
        start = kept.last().map_or(offset, |(at, _)| at);
    }
    let end = end_within(&line[start..], WIDEST).map_or(line.len(), |length| start + length);
    (start, end)
}
