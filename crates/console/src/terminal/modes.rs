//! The terminal modes that a program switched on.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Follows the control sequences in output that switch modes on or off.
///
/// A killed program leaves the alternate screen or mouse reports on; the next user of the terminal should
/// not have them.
#[derive(Debug, Default)]
pub(super) struct Modes {
    on: BTreeSet<u16>,
    is_cursor_hidden: bool,
    is_painted: bool,
    state: State,
    numbers: Vec<u16>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    /// Behind `ESC [`.
    Sequence,
    /// Behind `ESC [ ?`.
    Private,
}

/// The modes that can be undone: cursor keys, mouse, focus, alternate screen, paste.
const KNOWN: [u16; 11] = [1, 47, 1000, 1002, 1003, 1004, 1006, 1015, 1047, 1049, 2004];

/// No known sequence has more numbers.
const MOST_NUMBERS: usize = 16;

const CURSOR: u16 = 25;

impl Modes {
    /// Follows these bytes of output.
    pub(super) fn see(&mut self, shown: &[u8]) {
        for &byte in shown {
            self.state = match (self.state, byte) {
                (_, 0x1b) => State::Escape,
                (State::Escape, b'[') => {
                    self.numbers = vec![0];
                    State::Sequence
                }
                (State::Sequence, b'?') => State::Private,
                (State::Sequence | State::Private, b'0'..=b'9') => {
                    if let Some(number) = self.numbers.last_mut() {
                        *number = number
                            .saturating_mul(10)
                            .saturating_add((byte - b'0').into());
                    }
                    self.state
                }
                (State::Sequence | State::Private, b';') if self.numbers.len() < MOST_NUMBERS => {
                    self.numbers.push(0);
                    self.state
                }
                (State::Sequence, b'm') => {
                    self.is_painted = self.numbers.last() != Some(&0);
                    State::Text
                }
                (State::Private, b'h' | b'l') => {
                    self.switch(byte == b'h');
                    State::Text
                }
                (State::Sequence | State::Private, 0x20..=0x3f) => self.state,
                _ => State::Text,
            };
        }
    }

    fn switch(&mut self, is_on: bool) {
        for &number in &self.numbers {
            if number == CURSOR {
                self.is_cursor_hidden = !is_on;
            } else if is_on && KNOWN.contains(&number) {
                self.on.insert(number);
            } else {
                self.on.remove(&number);
            }
        }
    }

    /// Returns the sequences that switch everything off again.
    pub(super) fn undone(&self) -> Vec<u8> {
        let mut text = String::new();
        // The alternate screen last: other modes may belong to it.
        for mode in self.on.iter().rev() {
            let _ = write!(text, "\x1b[?{mode}l");
        }
        if self.is_cursor_hidden {
            text.push_str("\x1b[?25h");
        }
        if self.is_painted {
            text.push_str("\x1b[0m");
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shown: &str, expect: &str) {
        let whole = |bytes: &[u8]| {
            let mut modes = Modes::default();
            for byte in bytes {
                modes.see(&[*byte]);
            }
            String::from_utf8(modes.undone()).unwrap()
        };
        assert_eq!(whole(shown.as_bytes()), expect, "{shown:?}");
    }

    #[test]
    fn modes_left_on_are_switched_off() {
        check("$ vi\r\n\x1b[?1049h\x1b[?25l", "\x1b[?1049l\x1b[?25h");
        check("\x1b[?1049h text \x1b[?1049l", "");
        check("\x1b[?2004h$ ", "\x1b[?2004l");
        check("\x1b[?1000;1006h", "\x1b[?1006l\x1b[?1000l");
        check("\x1b[31mred", "\x1b[0m");
        check("\x1b[31mred\x1b[0m\x1b[m", "");
        check("\x1b[?9999999999h\x1b[?25\x1b[?25h", "");
    }
}
