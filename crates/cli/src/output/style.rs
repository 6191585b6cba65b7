//! Whether and how lines are coloured.

use std::ffi::OsStr;

/// Colours for one stream, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colours: bool,
}

/// What a piece of text means; the colour follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Good,
    /// It failed.
    Bad,
    /// It deserves a look.
    Warning,
    /// It is beside the point.
    Quiet,
    /// It stands out.
    Strong,
    /// It belongs to the job with this number.
    Job(usize),
}

impl Style {
    /// Colours nothing.
    pub const PLAIN: Self = Self { colours: false };
    /// Colours.
    pub const COLOURED: Self = Self { colours: true };

    /// Decides by the environment: `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, `TERM`, a terminal.
    pub fn decide(
        is_terminal: bool,
        variable: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let on = |name: &str| set(name).is_some_and(|value| value != OsStr::new("0"));
        if set("NO_COLOR").is_some() {
            return Self::PLAIN;
        }
        if on("CLICOLOR_FORCE") {
            return Self::COLOURED;
        }
        let refused = set("CLICOLOR").is_some_and(|value| value == OsStr::new("0"));
        let dumb = set("TERM").is_some_and(|value| value == OsStr::new("dumb"));
        Self {
            colours: is_terminal && !refused && !dumb,
        }
    }

    /// Returns whether there are colours.
    pub fn has_colours(self) -> bool {
        self.colours
    }

    /// Returns `text` in the colour of its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31;1",
            Tone::Warning => "33",
            Tone::Quiet => "2",
            Tone::Strong => "1",
            Tone::Job(number) => ["36", "35", "34", "33", "32", "96", "95", "94"][number % 8],
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Returns `text` without terminal control sequences, for output that is no terminal.
pub(crate) fn strip_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => skip_sequence(&mut chars),
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Skips what follows an escape character: a CSI, an OSC, or one character.
fn skip_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => {
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\x07' {
                    break;
                }
                if c == '\x1b' && chars.next_if_eq(&'\\').is_some() {
                    break;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(is_terminal: bool, variables: &[(&str, &str)]) -> Style {
        Style::decide(is_terminal, |name| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn the_environment_decides_about_colours() {
        assert!(decide(true, &[]).has_colours());
        assert!(!decide(false, &[]).has_colours());
        assert!(!decide(true, &[("NO_COLOR", "1")]).has_colours());
        assert!(decide(true, &[("NO_COLOR", "")]).has_colours());
        assert!(decide(false, &[("CLICOLOR_FORCE", "1")]).has_colours());
        assert!(!decide(false, &[("CLICOLOR_FORCE", "0")]).has_colours());
        assert!(!decide(true, &[("CLICOLOR", "0")]).has_colours());
        assert!(!decide(true, &[("TERM", "dumb")]).has_colours());
        assert!(!decide(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]).has_colours());
    }

    #[test]
    fn control_sequences_are_taken_out() {
        assert_eq!(strip_controls("\x1b[32;1m$ make\x1b[0;m"), "$ make");
        assert_eq!(
            strip_controls("a\x1b]8;;http://x\x07b\x1b]8;;\x1b\\c"),
            "abc"
        );
        assert_eq!(strip_controls("tab\there\r"), "tab\there");
        assert_eq!(strip_controls("broken \x1b["), "broken ");
    }
}
