use super::Severity;
use unicode_width::UnicodeWidthChar;

/// How many columns of a line are shown at most; longer ones are cut around the place.
const WIDEST: usize = 100;

/// How many columns a tab takes; where it stands makes no difference.
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

/// What a piece of the text is, which decides its colour.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The title, and what marks the place.
    Severity(Severity),
    /// Numbers, bars and arrows, and the marks of other places.
    Frame,
    /// The words that matter most.
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

/// Replaces what could steer the terminal.
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

/// Returns how many columns a character takes once it is [`printable`].
pub(super) fn columns(character: char) -> usize {
    match character {
        '\t' => TAB.len(),
        character => character.width().unwrap_or(1),
    }
}

/// Returns the part of a line that is shown, given where in it the place is: all of it, or what fits
/// around the place.
pub(super) fn window(line: &str, place: usize) -> (usize, usize) {
    let fits = |text: &str, room: usize| -> Option<usize> {
        let mut taken = 0;
        let over = text.char_indices().find(|(_, character)| {
            taken += columns(*character);
            taken > room
        });
        over.map(|(at, _)| at)
    };
    // The window starts a third before the place, so that what leads to it is seen too.
    let mut start = 0;
    if fits(&line[..place], WIDEST * 2 / 3).is_some() {
        let mut taken = 0;
        let before = line[..place].char_indices().rev();
        let kept = before.take_while(|(_, character)| {
            taken += columns(*character);
            taken <= WIDEST / 3
        });
        start = kept.last().map_or(place, |(at, _)| at);
    }
    let end = fits(&line[start..], WIDEST).map_or(line.len(), |length| start + length);
    (start, end)
}
