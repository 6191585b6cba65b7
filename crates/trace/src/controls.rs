//! Which bytes of a log a terminal shows, and which only act on it.

/// A longer run of bytes that are not shown separates the text around it.
const LONGEST_RUN: usize = 4096;

/// Tells the bytes of a text that are shown from control characters and control sequences.
///
/// It is the one rule for programs that remove them, and for the [`Masker`](crate::Masker), which finds a secret also
/// where such bytes stand inside it: removing them would put it together again. Only ASCII acts here: a program that
/// shows text replaces the controls of other bytes (C1) instead of removing them. A line end ends every sequence. A tab
/// is shown.
///
/// ```
/// let mut controls = trace::Controls::default();
/// let text = b"\x1b[1mbo\x08ld\x1b[0m";
/// let shown: Vec<u8> = text.iter().copied().filter(|byte| !controls.hides(*byte)).collect();
/// assert_eq!(shown, b"bold");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Controls {
    state: State,
    run: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After an escape character.
    Escape,
    /// Before the last character of a short sequence.
    Last,
    /// In a sequence with parameters, as those of colours (CSI).
    Parameters,
    /// In a title, a link or an image, which end with a string terminator.
    String,
    /// After an escape character in such a string.
    StringEscape,
}

impl Controls {
    /// Returns whether the next byte of the text is not shown.
    #[inline]
    pub fn hides(&mut self, byte: u8) -> bool {
        if self.state == State::Text && !is_control(byte) {
            self.run = 0;
            return false;
        }
        self.advance(byte)
    }

    fn advance(&mut self, byte: u8) -> bool {
        let (state, hidden) = match (self.state, byte) {
            (_, b'\n' | b'\r') => (State::Text, false),
            (State::String | State::StringEscape, b'\x1b') => (State::StringEscape, true),
            (State::String, b'\x07') | (State::StringEscape, b'\\' | b'\x07') => {
                (State::Text, true)
            }
            (State::String | State::StringEscape, _)
            | (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => (State::String, true),
            (_, b'\x1b') => (State::Escape, true),
            (State::Escape, b'[') | (State::Parameters, b' '..=b'?') => (State::Parameters, true),
            (State::Escape, b' '..=b'/') => (State::Last, true),
            (State::Escape | State::Parameters | State::Last, b' '..=b'~') => (State::Text, true),
            (_, byte) => (State::Text, is_control(byte)),
        };
        self.state = state;
        self.run = if hidden { self.run + 1 } else { 0 };
        hidden
    }

    /// Returns whether no sequence has begun.
    #[inline]
    pub fn is_text(&self) -> bool {
        self.state == State::Text
    }

    /// Returns whether the last byte is the first of a run of hidden ones.
    pub(crate) fn begins(&self) -> bool {
        self.run == 1
    }

    /// Returns whether so many bytes in a row, more than 4 KiB, were hidden that the text after them is not joined with
    /// the text before: a program that removes them shows something in their place.
    pub fn separates(&self) -> bool {
        self.run > LONGEST_RUN
    }

    /// Returns the position of the first byte from `from` on that could begin hidden text, or the length of `text`.
    pub(crate) fn next(text: &[u8], from: usize) -> usize {
        // Without an early way out a block is checked many bytes at a time.
        let any = |block: &[u8]| {
            block
                .iter()
                .fold(false, |any, byte| any | is_control(*byte))
        };
        let mut at = from;
        for block in text[from..].chunks(64) {
            if any(block) {
                let found = block.iter().position(|byte| is_control(*byte));
                return at + found.unwrap_or(0);
            }
            at += block.len();
        }
        text.len()
    }
}

/// Returns whether a byte outside a sequence is not shown.
#[inline]
fn is_control(byte: u8) -> bool {
    matches!(byte, 0..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f)
}
