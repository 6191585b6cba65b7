//! Makes foreign text safe to show.

use std::borrow::Cow;

use trace::Controls;

/// Longer runs of colour codes are forgotten at the end of a line.
const LONGEST_COLOURS: usize = 128;

/// Removes from lines what would act on a terminal: cursor movement, titles, links, the clipboard.
///
/// Colours stay where they are wanted. They end with each line, so that they reach nothing else,
/// and come back with the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cleaner {
    colours: bool,
    /// The codes in force at the end of the last line.
    active: String,
}

impl Cleaner {
    pub(crate) fn new(colours: bool) -> Self {
        Self {
            colours,
            active: String::new(),
        }
    }

    /// Returns a line as it can be shown: of a line that overwrites itself, the last state.
    pub(crate) fn line<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.active.is_empty() && is_plain(text) {
            return Cow::Borrowed(text);
        }
        let mut out = self.active.clone();
        let keep = self.colours.then_some(&mut self.active);
        clean(last_state(text), &mut out, keep);
        if out.contains('\x1b') {
            out.push_str("\x1b[0m");
        }
        Cow::Owned(out)
    }
}

/// Returns `text` without anything that would act on a terminal.
pub fn strip_controls(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    clean(text, &mut out, None);
    out
}

/// Returns the name of a job or a stage as it stands in a column: a tab would move what follows.
pub fn shown_name(name: &str) -> String {
    strip_controls(name).replace('\t', " ")
}

/// Returns the last state of a line that overwrites itself.
pub(crate) fn last_state(text: &str) -> &str {
    let mut states = text.rsplit('\r');
    states.find(|state| !state.is_empty()).unwrap_or("")
}

/// Returns whether all characters are printable ASCII.
pub(crate) fn is_plain(text: &str) -> bool {
    // Without an early way out this is done many bytes at a time.
    let odd = |byte: &u8| !(0x20..0x7f).contains(byte);
    !text
        .as_bytes()
        .iter()
        .fold(false, |any, byte| any | odd(byte))
}

fn clean(text: &str, out: &mut String, mut colours: Option<&mut String>) {
    let mut controls = Controls::default();
    let (mut shown, mut sequence) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        let separates = controls.separates();
        if controls.hides(byte) {
            // Within a sequence `at` may be inside a character.
            if shown < at {
                push_shown(&text[shown..at], out);
            }
            shown = at + 1;
            if byte == b'\x1b' {
                sequence = at;
            }
            if let Some(active) = &mut colours
                && controls.is_text()
                && is_colour(&text[sequence..=at])
            {
                out.push_str(&text[sequence..=at]);
                remember(active, &text[sequence..=at]);
            }
        } else if separates {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }
    push_shown(&text[shown..], out);
}

/// Adds text without control sequences, with a sign in place of what still acts on a terminal.
fn push_shown(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| match c {
        '\t' => c,
        '\r' | '\n' => ' ',
        c if c.is_control() || is_direction(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }));
}

/// Returns whether the character changes the order in which a whole line is shown.
pub fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_colour(sequence: &str) -> bool {
    let numbers = sequence
        .strip_prefix("\x1b[")
        .and_then(|it| it.strip_suffix('m'));
    numbers.is_some_and(|it| it.bytes().all(|b| b.is_ascii_digit() || b";:".contains(&b)))
}

/// Notes which colours are in force.
fn remember(active: &mut String, sequence: &str) {
    let numbers = sequence.trim_start_matches("\x1b[").trim_end_matches('m');
    let resets = numbers.bytes().all(|b| b"0;".contains(&b));
    if resets || active.len() + sequence.len() > LONGEST_COLOURS {
        active.clear();
    }
    if !resets {
        active.push_str(sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_control_sequences() {
        let check = |text: &str, expect: &str| assert_eq!(strip_controls(text), expect, "{text:?}");
        check("\x1b[32;1m$ make\x1b[0;m", "$ make");
        check("a\x1b]8;;http://x\x07b\x1b]8;;\x1b\\c", "abc");
        check("\x1b]52;c;aGVsbG8=\x07clipboard", "clipboard");
        check("\x1b]0;title\x1b\\text", "text");
        check("\x1bPq#0;2;0\x1b\\sixel", "sixel");
        check("\x1b_apc\x1b\\ \x1b^pm\x1b\\ \x1bXsos\x1b\\", "  ");
        check("\x1b[2J\x1b[1;1Htop\x1b[?1049h\x1b[?25l", "top");
        check("\x1bcreset \x1b(0lines \x1b#8", "reset lines ");
        // Nothing but ASCII is taken away, so the text around it is not joined.
        check("\u{9b}2Jeight \u{9d}bits", "\u{fffd}2Jeight \u{fffd}bits");
        check(
            "bell\x07 back\x08 form\x0c vt\x0b nul\0",
            "bell back form vt nul",
        );
        check("file\u{202e}fdp.exe", "file\u{fffd}fdp.exe");
        check("two\rstates", "two states");
        let image = format!("a\x1b]1337;{}\x07b", "x".repeat(5000));
        check(&image, "a\u{fffd}b");
        check("tab\there", "tab\there");
        check("broken \x1b[", "broken ");
        check("broken \x1b", "broken ");
        check("unfinished \x1b]0;for ever", "unfinished ");
        check("a\x1b]0;\u{65e5}\u{672c}\x07b \x1bP\u{e9}", "ab ");
        check(
            "\x1b]8;;x\u{fffd}b\nc \x1b\u{e9}\x1b[\u{e9}",
            " c \u{e9}\u{e9}",
        );
        check("\x1b[31\u{e9}t\u{e9}", "\u{e9}t\u{e9}");
    }

    #[test]
    fn colours_end_with_their_line_and_resume_in_the_next() {
        let mut cleaner = Cleaner::new(true);
        assert_eq!(cleaner.line("plain"), "plain");
        assert_eq!(cleaner.line("\x1b[31mred"), "\x1b[31mred\x1b[0m");
        assert_eq!(cleaner.line("still"), "\x1b[31mstill\x1b[0m");
        assert_eq!(cleaner.line("end\x1b[0;m"), "\x1b[31mend\x1b[0;m\x1b[0m");
        assert_eq!(cleaner.line("plain"), "plain");
        assert_eq!(
            cleaner.line("\x1b[2Jx\x1b[38;2;1;2;3mt"),
            "x\x1b[38;2;1;2;3mt\x1b[0m"
        );
        assert_eq!(Cleaner::new(false).line("\x1b[31mred"), "red");
    }

    #[test]
    fn progress_bars_show_their_last_state() {
        let mut cleaner = Cleaner::new(true);
        assert_eq!(cleaner.line("10%\r50%\r100%"), "100%");
        assert_eq!(cleaner.line("100%\r"), "100%");
        assert_eq!(cleaner.line("\r\r"), "");
    }
}
