//! The output limit: a view of the log that stops at a size.

/// The size of the part of a log that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputLimit {
    /// The whole log.
    Unlimited,
    /// This number of bytes, without the notice that follows them.
    Bytes(u64),
}

impl OutputLimit {
    /// The default, 4 MiB.
    pub const DEFAULT: Self = Self::Bytes(4 * 1024 * 1024);
}

impl Default for OutputLimit {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The part of a piece that a [`Limiter`] admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted<'a> {
    /// The part to show.
    pub text: &'a [u8],
    /// Whether this piece reaches the limit, so that a notice is due now.
    pub reached: bool,
}

/// Counts the shown text and cuts it at the limit, never inside a code point.
#[derive(Clone, Debug)]
pub struct Limiter {
    limit: OutputLimit,
    shown: u64,
    reached: bool,
}

impl Limiter {
    /// Returns a limiter before any text.
    pub fn new(limit: OutputLimit) -> Self {
        Self {
            limit,
            shown: 0,
            reached: false,
        }
    }

    /// Returns the part of `text` to show.
    ///
    /// Text that ends within the limit is admitted completely. Near the limit, code points split between two pieces are
    /// shown completely or not at all.
    pub fn admit<'a>(&mut self, text: &'a [u8]) -> Admitted<'a> {
        let OutputLimit::Bytes(limit) = self.limit else {
            self.shown += text.len() as u64;
            return Admitted {
                text,
                reached: false,
            };
        };
        if self.reached || text.is_empty() {
            return Admitted {
                text: &[],
                reached: false,
            };
        }
        let left = usize::try_from(limit - self.shown).unwrap_or(usize::MAX);
        let shown = cut(text, left);
        self.reached = shown < text.len();
        self.shown += shown as u64;
        Admitted {
            text: &text[..shown],
            reached: self.reached,
        }
    }

    /// Returns whether text was dropped.
    pub fn is_reached(&self) -> bool {
        self.reached
    }

    /// Returns the number of admitted bytes.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// Returns the line in place of the dropped text.
    pub(crate) fn notice(&self) -> String {
        let OutputLimit::Bytes(limit) = self.limit else {
            return String::new();
        };
        format!(
            "\x1b[33;1mThe log passed its limit of {limit} bytes: \
             the rest is not shown, the job goes on.\x1b[0m\n"
        )
    }
}

/// Returns how much of `text` fits into `left` bytes.
///
/// An incomplete code point is dropped if the rest of it would not fit.
fn cut(text: &[u8], left: usize) -> usize {
    let end = text.len().min(left);
    let Some((start, width)) = last_code_point(&text[..end]) else {
        return end;
    };
    if start + width > left { start } else { end }
}

/// Returns the position and the full width of the last code point of `text`.
fn last_code_point(text: &[u8]) -> Option<(usize, usize)> {
    let back = text
        .iter()
        .rev()
        .take(4)
        .position(|byte| byte & 0xC0 != 0x80)?;
    let start = text.len() - 1 - back;
    let width = match text[start] {
        0xF0..=0xF7 => 4,
        0xE0..=0xEF => 3,
        0xC0..=0xDF => 2,
        _ => 1,
    };
    Some((start, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(limit: u64, pieces: &[&[u8]]) -> (Vec<u8>, usize) {
        let mut limiter = Limiter::new(OutputLimit::Bytes(limit));
        let mut all = Vec::new();
        let mut notices = 0;
        for piece in pieces {
            let admitted = limiter.admit(piece);
            all.extend_from_slice(admitted.text);
            notices += usize::from(admitted.reached);
        }
        (all, notices)
    }

    #[test]
    fn text_up_to_the_limit_is_whole() {
        assert_eq!(shown(4, &[b"ab", b"cd"]), (b"abcd".to_vec(), 0));
        assert_eq!(shown(4, &[b"ab", b"cd", b""]), (b"abcd".to_vec(), 0));
    }

    #[test]
    fn notice_is_due_once() {
        assert_eq!(
            shown(3, &[b"ab", b"cd", b"ef", b"gh"]),
            (b"abc".to_vec(), 1)
        );
        assert_eq!(shown(2, &[b"ab", b"c"]), (b"ab".to_vec(), 1));
    }

    #[test]
    fn code_points_stay_whole_at_every_limit_and_split() {
        let text = "aé€😀b€é😀";
        for limit in 0..text.len() {
            let expect = text.floor_char_boundary(limit);
            for split in 0..=text.len() {
                let (first, second) = text.as_bytes().split_at(split);
                let (all, notices) = shown(limit as u64, &[first, second]);
                assert_eq!(
                    all,
                    text.as_bytes()[..expect],
                    "limit {limit}, split {split}"
                );
                assert_eq!(notices, 1);
            }
        }
    }

    #[test]
    fn invalid_bytes_are_cut_anywhere() {
        assert_eq!(shown(6, &[&[0x80; 10]]).0.len(), 6);
        assert_eq!(shown(6, &[&[0xff; 10]]).0.len(), 6);
    }
}
